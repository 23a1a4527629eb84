# The short names of everything one does here. The build itself is CMakeLists.txt.
.PHONY: all run test full bench bench-history bench-pages soak concurrency fuzz format lint docs clean

all:
	@scripts/deps build
	@cmake --preset release >/dev/null
	@cmake --build --preset release --target inferometer

# make run UPSTREAM=http://127.0.0.1:8000
export UPSTREAM
run: all
	@scripts/run

test:
	@scripts/test

full:
	@scripts/full

bench: all
	@bench/run
	@bench/history
	@bench/rules

bench-history: all
	@bench/history

bench-pages: all
	@bench/pages

# make soak SOAK_SECONDS=3600
soak: all
	@bench/soak

concurrency: all
	@bench/concurrency

# make fuzz FUZZ_SECONDS=3600
fuzz:
	@scripts/fuzz

format:
	@scripts/lint --fix-format

lint:
	@scripts/lint

docs: all
	@scripts/gen_docs

clean:
	rm -rf build
