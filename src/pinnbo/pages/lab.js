"use strict";
/* The lab page. All that counts is in the storage; here are only what is being typed and which trial is in front. */
const $ = (id) => document.getElementById(id);
const field = new FieldMap(document.querySelector(".map"));
let state = null, mine = null, believed = null, thinking = false, busy = false;

async function request(path, body) {
  const options = body === undefined ? {} : {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
  };
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Error("pinnbo does not answer. Nothing is lost: start pinnbo lab again and open the address that it prints.");
  }
  if (response.status === 401) throw new Error("pinnbo was started again: open the address that it printed.");
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

function element(tag, text, className) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

const withUnit = (name) => (state.units[name] ? `${name} [${state.units[name]}]` : name);
const who = () => $("who").value.trim();
const short = (number) => (number === null ? "" : String(Number(number.toPrecision(6))));
const inWords = (point) => Object.entries(point)
  .map(([name, c]) => `${name} = ${short(c)}${state.units[name] ? ` ${state.units[name]}` : ""}`).join(", ");

function trouble(sentence) {
  $("trouble").hidden = !sentence;
  $("trouble").textContent = sentence || "";
  if (sentence) say("");
}

function say(sentence) { $("said").textContent = sentence; }

/* "" and other text become null */
function number(text) {
  const found = Number(text.trim());
  return text.trim() === "" || !Number.isFinite(found) ? null : found;
}

async function act(path, body, done) {
  if (busy) return false;
  busy = true;
  for (const button of document.querySelectorAll("main button")) button.disabled = !button.dataset.layer;
  try {
    const answer = await request(path, body);
    trouble("");
    if (done) done(answer);
    return true;
  } catch (error) {
    trouble(error.message);
    return false;
  } finally {
    busy = false;
    for (const button of document.querySelectorAll("main button")) button.disabled = false;
    await refresh();
  }
}

async function ask() {
  say("Choosing a point …");
  const done = await act("ask", { who: who() }, (answer) => { mine = answer.trial; sessionStorage.setItem("mine", String(mine)); });
  say(done ? `Trial ${mine} is yours.` : "");
}

async function tell(value, words) {
  const trial = mine, noise = number($("noise").value);
  if ($("noise").value.trim() !== "" && noise === null) return trouble("Expected the standard deviation as a number such as 0.1.");
  const of = $("of").value || null;
  const done = await act("tell", { trial, value, noise: typeof value === "number" ? noise : null, of }, () => {
    $("value").value = "";
    $("of").value = "";
    mine = null;
  });
  if (!done) return;
  say(`Trial ${trial}: ${words} is stored.`);
  if ($("onwards").checked && state && state.evaluations < state.budget) await ask();
  $("value").focus();
}

function show() {
  const queue = state.queue.map((one) => one.trial);
  if (!queue.includes(mine)) {
    const kept = sessionStorage.getItem("mine");
    // what this page had in front, or what nobody else has
    const free = state.queue.filter((one) => one.who === who()).concat(state.queue.filter((one) => !one.who));
    mine = kept !== null && queue.includes(Number(kept)) ? Number(kept) : free.length ? free[0].trial : null;
  }
  $("progress").textContent = `${state.goal}: ${state.evaluations} of ${state.budget} evaluations`;
  $("none").hidden = mine !== null;
  $("turn").hidden = mine === null;
  if (mine !== null && $("trial").textContent !== String(mine)) {
    $("trial").textContent = String(mine);
    const { point } = state.queue.find((one) => one.trial === mine);
    $("point").replaceChildren(...Object.entries(point).map(([name, c]) => {
      const pair = element("div");
      pair.append(element("dt", withUnit(name)), element("dd", short(c)));
      return pair;
    }));
    field.show_front(point);
  }
  if (mine === null) {
    $("trial").textContent = "";
    field.show_front(null);
  }
  $("sensor-row").hidden = state.sensors.length === 0;
  ifNew("sensors", state.sensors, showSensors);
  // what has not changed stays, and a click on it counts
  ifNew("queue", [state.queue, mine, who()], showQueue);
  ifNew("answers", state.answers, showAnswers);
}

const shown = {};
function ifNew(what, content, draw) {
  const text = JSON.stringify(content);
  if (shown[what] === text) return;
  shown[what] = text;
  draw();
}

/* the measured quantity itself comes first */
function showSensors() {
  $("of").replaceChildren(...["", ...state.sensors].map((name) => {
    const option = element("option", name || "what is optimised");
    option.value = name;
    return option;
  }));
}

function showQueue() {
  const items = state.queue.map((one) => {
    const item = element("li"), button = element("button", one.trial === mine ? "Shown above" : "Take it");
    button.type = "button";
    button.setAttribute("aria-pressed", String(one.trial === mine));
    button.setAttribute("aria-label", `Trial ${one.trial}: ${button.textContent}`);
    button.addEventListener("click", () => take(one));
    const holder = one.who ? ` (${one.who === who() ? "yours" : `with ${one.who}`})` : "";
    item.append(element("span", `Trial ${one.trial}: ${inWords(one.point)}${holder}`), button);
    return item;
  });
  $("queue").replaceChildren(...(items.length ? items : [element("li", "Nothing is under way.", "soft")]));
}

async function take(one) {
  mine = one.trial;
  sessionStorage.setItem("mine", String(mine));
  show();
  if (one.who !== who()) await act("take", { trial: one.trial, who: who() });
}

function showAnswers() {
  const names = state.answers.length ? Object.keys(state.answers[0].point) : [];
  const head = element("tr");
  for (const title of ["Trial", "change", ...names.map(withUnit), "value", "noise", "meaning", "was"]) {
    const cell = element("th", title, ["meaning", "was", "change"].includes(title) ? "words" : "");
    cell.scope = "col";
    head.append(cell);
  }
  const lines = state.answers.map((one) => {
    const line = element("tr"), change = element("td", undefined, "change");
    line.append(element("td", String(one.trial)), change, ...names.map((name) => element("td", short(one.point[name]))),
      element("td", short(one.value)), element("td", short(one.noise)), element("td", one.meaning, "words"),
      element("td", one.was.map((old) => (typeof old === "number" ? short(old) : String(old))).join(", "), "words"));
    if (one.meaning !== "withdrawn") {
      for (const [text, run] of [["Correct", () => correct(one)], ["Withdraw", () => withdraw(one.trial)]]) {
        if (text === "Correct" && one.meaning === "lost") continue;
        const button = element("button", text);
        button.type = "button";
        button.setAttribute("aria-label", `${text} trial ${one.trial}`);
        button.addEventListener("click", run);
        change.append(button, " ");
      }
    }
    return line;
  });
  $("answers").tHead.replaceChildren(...(lines.length ? [head] : []));
  $("answers").tBodies[0].replaceChildren(...(lines.length ? lines : [element("tr")]));
}

function correct(one) {
  $("correction").hidden = false;
  $("which").textContent = String(one.trial);
  $("corrected").value = one.value === null ? "" : String(one.value);
  $("corrected").focus();
}

async function withdraw(trial) {
  if (await act("withdraw", { trial })) say(`Trial ${trial} is withdrawn; its value stays in the record.`);
}

async function refresh() {
  try {
    const fresh = await request("state");
    if (busy) return;
    const changed = !state || fresh.version !== state.version;
    state = fresh;
    if (changed) show();
    if ($("trouble").textContent.startsWith("pinnbo ")) trouble("");
  } catch (error) {
    trouble(error.message);
    return;
  }
  if (believed !== state.version) believe();
}

async function believe() {
  if (thinking) return;
  thinking = true;
  $("thinking").textContent = "Computing …";
  try {
    const found = await request("belief");
    believed = found.version;
    $("words").replaceChildren(...found.words.map(({ topic, text }) => {
      const line = element("p");
      line.append(element("strong", `${topic}.`), ` ${text}`);
      return line;
    }));
    $("what").textContent = found.value === "f" ? "value" : found.value;
    $("field").hidden = !found.field;
    $("fixed").textContent = found.field && found.field.fixed ? `On the map all other parameters are as at the best point: ${found.field.fixed}.` : "";
    field.set(found.field);
    $("thinking").textContent = "";
  } catch (error) {
    $("thinking").textContent = error.message;
  } finally {
    thinking = false;
  }
}

$("entry").addEventListener("submit", (event) => {
  event.preventDefault();
  const value = number($("value").value);
  if (value === null) return trouble(`Expected a number such as 1.23 or -4e-3, with a point, got ${$("value").value || "nothing"}.`);
  tell(value, short(value));
});
$("impossible").addEventListener("click", () => tell("impossible", "impossible"));
$("lost").addEventListener("click", () => tell("lost", "lost"));
$("withdraw").addEventListener("click", () => withdraw(mine));
$("ask").addEventListener("click", ask);
$("who").value = localStorage.getItem("pinnbo-who") || "";
$("who").addEventListener("change", () => { localStorage.setItem("pinnbo-who", who()); if (state) show(); });
$("never-mind").addEventListener("click", () => { $("correction").hidden = true; });
$("correction").addEventListener("submit", async (event) => {
  event.preventDefault();
  const text = $("corrected").value, trial = Number($("which").textContent);
  const value = text.trim() === "impossible" ? "impossible" : number(text);
  if (value === null) return trouble("Expected a number such as 1.23 or -4e-3, with a point, or the word impossible.");
  if (await act("correct", { trial, value })) {
    $("correction").hidden = true;
    say(`Trial ${trial} is ${typeof value === "number" ? short(value) : value} now; the old value stays in the record.`);
  }
});
refresh();
setInterval(refresh, 2000);
