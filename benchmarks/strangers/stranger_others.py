"""Released projects in other languages, and a monorepo; see `stranger_python`."""

from typing import Final

from benchmarks.strangers.stranger_python import IS_ENCODED, ITSDANGEROUS, TEST_OF_IS_ENCODED
from benchmarks.strangers.stranger_shape import Archive, Part, Project

_REUSIFY: Final = Archive(
    "npm",
    "reusify",
    "1.1.0",
    "2460004412100eea8e96b98f14d3dfb4e22a6628654e5431d14f974c6201ca18",
)
_REUSED: Final = """
module.exports.isReusable = function isReusable (obj) {
  return 'next' in obj
}
"""
_TEST_OF_REUSED: Final = """
test('says what can be reused', function (t) {
  t.ok(reusify.isReusable({ next: null }))
  t.notOk(reusify.isReusable({}))
  t.end()
})
"""
OTHERS: Final = (
    Project(
        name="reusify",
        kinds=("npm",),
        parts=(Part(_REUSIFY, lock="npm"),),
        appended={"reusify.js": _REUSED, "test.js": _TEST_OF_REUSED},
    ),
    Project(
        name="fastify-error",
        kinds=("node --test", "npm"),
        parts=(
            Part(
                Archive(
                    "npm",
                    "@fastify/error",
                    "4.3.0",
                    "7980a744147a40ec297d746481377cc5b227fb567376e723a3cfd15d04bf6c0a",
                ),
                lock="npm",
            ),
        ),
        appended={
            "index.js": """
module.exports.isFastifyError = function isFastifyError (value) {
  return value instanceof FastifyErrorConstructor
}
""",
            "test/index.test.js": """
test('says what is an error of its own', (t) => {
  t.plan(2)

  const { isFastifyError } = require('..')
  t.assert.ok(isFastifyError(new FastifyError()))
  t.assert.ok(!isFastifyError(new Error()))
})
""",
        },
    ),
    Project(
        name="merge-json-schemas",
        kinds=("pnpm", "node --test"),
        parts=(
            Part(
                Archive(
                    "npm",
                    "@fastify/merge-json-schemas",
                    "0.2.2",
                    "fabcf6f570e0874273e1933b800cc0e17d69750227be0288f137f308199d5745",
                ),
                lock="pnpm",
            ),
        ),
        appended={
            "index.js": """
module.exports.hasResolver = function hasResolver (keyword) {
  return keyword in keywordsResolvers
}
""",
            "test/required.test.js": """
test('says which keywords have a resolver', () => {
  const { hasResolver } = require('../index')
  assert.ok(hasResolver('required'))
  assert.ok(!hasResolver('unknown'))
})
""",
        },
    ),
    Project(
        name="retry-as-promised",
        kinds=("TypeScript build", "npm"),
        parts=(
            Part(
                Archive(
                    "npm",
                    "retry-as-promised",
                    "7.1.1",
                    "649ae1752ee4e09bf9fa56fe7f030ade4835aa4f03094aea1bd3a21c17072f3c",
                ),
                lock="npm",
                # Its TypeScript cannot read later types of Node.
                resolved_before="2025-06-01",
                built=("dist",),
            ),
        ),
        ignored=("node_modules", "dist"),
        appended={
            "index.ts": """

export function isRetried(tries: number, max: number): boolean {
  return tries < max;
}
""",
            "test/promise.test.js": """
describe('isRetried', function() {
  it('ends with the last try', function() {
    var isRetried = require('../').isRetried;
    expect(isRetried(1, 2)).to.equal(true);
    expect(isRetried(2, 2)).to.equal(false);
  });
});
""",
        },
    ),
    Project(
        name="strsim",
        kinds=("Rust",),
        parts=(
            Part(
                Archive(
                    "debian",
                    "librust-strsim-dev",
                    "0.10.0-1",
                    "6b676122f64f7c2d3d130db4e367b4fdaaf7c61b65a024110cbe99814471a3a1",
                ),
            ),
        ),
        toolchains=("rust",),
        appended={
            "src/lib.rs": """
/// Says whether two texts differ by one edit at most.
///
/// ```
/// assert!(strsim::is_similar("cat", "cart"));
/// ```
pub fn is_similar(a: &str, b: &str) -> bool {
    levenshtein(a, b) <= 1
}
""",
            "tests/lib.rs": """
#[test]
fn is_similar_works() {
    assert!(!strsim::is_similar("cat", "dog"));
}
""",
        },
    ),
    Project(
        name="monorepo",
        kinds=("monorepo", "npm", "src layout"),
        parts=(
            Part(ITSDANGEROUS, "services/signing"),
            Part(_REUSIFY, "packages/reuse", lock="npm"),
        ),
        appended={
            "services/signing/src/itsdangerous/encoding.py": IS_ENCODED,
            "services/signing/tests/test_itsdangerous/test_encoding.py": TEST_OF_IS_ENCODED,
            "packages/reuse/reusify.js": _REUSED,
            "packages/reuse/test.js": _TEST_OF_REUSED,
        },
    ),
)
