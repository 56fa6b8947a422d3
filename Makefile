PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
LIGHT := $(VENV)/.installed-for-demo
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: install postgresql chromium demo test test-all lint docs package bench clean

install: $(STAMP)

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "pinnbo needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)

$(STAMP): pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) -e '.[dev]'
	touch $@

# a visitor is spared the gigabyte of what is compared with
$(LIGHT): pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) -e '.[plots,problems]'
	touch $@

demo: $(if $(wildcard $(STAMP)),$(STAMP),$(LIGHT))
	$(BIN)/pinnbo demo

# as root; otherwise the tests that need them say how
postgresql:
	-scripts/postgresql install

chromium:
	-scripts/chromium install

test: install postgresql chromium
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2

test-all: install postgresql chromium
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 -m ''

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# the site, into out/site; a warning is an error
docs: install
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs out/site
	@echo out/site/index.html

# wheel and sdist, into out/dist, and whether they install
package: install
	scripts/package $(BIN)/python out/dist

bench: install
	$(BIN)/pinnbo bench run --preset smoke
	$(BIN)/pinnbo bench report --preset smoke

clean:
	rm -rf $(VENV) out build
