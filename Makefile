PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: install postgresql chromium demo test test-all lint bench clean

install: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "pinnbo needs Python 3.11 or newer")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

demo: install
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

bench: install
	$(BIN)/pinnbo bench run --preset smoke
	$(BIN)/pinnbo bench report --preset smoke

clean:
	rm -rf $(VENV) out build
