"use strict";
/* The front page of the dashboard: the map of the field. */
const shownField = document.querySelector(".map");
if (shownField) new FieldMap(shownField).set(JSON.parse(document.getElementById("field").textContent));
