import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { canonical } from '../../../test/conformance/canonical.ts'
import { freshGenerator } from '../../../test/conformance/generator.ts'
import { runAllModes } from '../../../test/fuzz/all-modes.ts'
import { DYN } from '../check/types.ts'
import { compile, environment } from '../index.ts'
import { parseQuantity, type Quantity } from '../values/quantity.ts'
import { parseSemver, type Semver } from '../values/semver.ts'
import { parseUrl } from '../values/url.ts'
import type { Value } from '../values/value.ts'

/** The results of Kubernetes, except for the cases under `otherwise`. */
const CASES = {
  url: [
    ["url('https://user:pass@example.com:80/path?k=v#frag').getScheme()", '"https"'],
    ["url('HTTPS://example.com').getScheme()", '"https"'],
    ["url('/path').getScheme()", '""'],
    ["url('https://user:pass@example.com:80/').getHost()", '"example.com:80"'],
    ["url('https://example.com/').getHost()", '"example.com"'],
    ["url('https://[::1]:80/').getHost()", '"[::1]:80"'],
    ["url('/path').getHost()", '""'],
    ["url('//host/path').getHost()", '"host"'],
    ["url('https://example.com:80/').getHostname()", '"example.com"'],
    ["url('https://127.0.0.1:80/').getHostname()", '"127.0.0.1"'],
    ["url('https://[::1]:80/').getHostname()", '"::1"'],
    ["url('https://[fe80::1%25en0]/').getHostname()", '"fe80::1%en0"'],
    ["url('https://b%C3%BCcher.example/').getHostname()", '"bücher.example"'],
    ["url('https://example.com:80/').getPort()", '"80"'],
    ["url('https://example.com:/').getPort()", '""'],
    ["url('https://example.com/').getPort()", '""'],
    ["url('https://example.com/a%20b/').getEscapedPath()", '"/a%20b/"'],
    ["url('https://example.com/a b%2Fc').getEscapedPath()", '"/a%20b/c"'],
    ["url('https://example.com/a%2Fb').getEscapedPath()", '"/a%2Fb"'],
    ["url('https://example.com').getEscapedPath()", '""'],
    ["url('*').getEscapedPath()", '"*"'],
    [
      "url('https://example.com/?k1=a&k2=b&k2=c&k3').getQuery()",
      '{"k1": ["a"], "k2": ["b", "c"], "k3": [""]}',
    ],
    ["url('https://example.com/?k=a%20b+c#k=x').getQuery()", '{"k": ["a b c"]}'],
    ["url('/path').getQuery()", '{}'],
    ["isURL('https://user:pass@example.com:80/path?k=v#frag')", 'true'],
    ["isURL('/absolute-path')", 'true'],
    ["isURL('mailto:a@b')", 'true'],
    ["isURL('https://a:b:c/')", 'false'],
    ["isURL('https://a:1:2/')", 'false'],
    ["isURL('postgres://a:1,b:2/')", 'true'],
    ["isURL('https://[::1')", 'false'],
    ["isURL('https://[1.2.3.4]/')", 'false'],
    ["isURL('https://a%41/')", 'false'],
    ["isURL('https://a/%zz')", 'false'],
    ["isURL('https://a b/')", 'false'],
    ["isURL('../relative-path')", 'false'],
    ["isURL('')", 'false'],
    ["isURL('/a\\nb')", 'false'],
    ['url(x)', 'error', 'a b'],
    ["url('http://b%C3%BCcher/a') == url('HTTP://bücher/a')", 'true'],
    ["url('/a') == url('/b')", 'false'],
    ["type(url('/a')) == kubernetes.URL", 'true'],
  ],
  semver: [
    ["isSemver('1.0.0')", 'true'],
    ["isSemver('hello')", 'false'],
    ["isSemver('1.0')", 'false'],
    ["isSemver('v1.0.0')", 'false'],
    ["isSemver('01.0.0')", 'false'],
    ["isSemver('1.0.0-01')", 'false'],
    ["isSemver('1.0.0-0a.-+007.x')", 'true'],
    ["isSemver('1.0.0-a..b')", 'false'],
    ["isSemver('18446744073709551616.0.0')", 'false'],
    ["isSemver('v1.0', true)", 'true'],
    ["isSemver('v1.0', false)", 'false'],
    ["isSemver('1.0-rc.1', true)", 'false'],
    ["isSemver('1.2.3.4', true)", 'false'],
    ["string(semver('v01.02', true))", '"1.2.0"'],
    ["semver('1.2.3').major()", '1'],
    ["semver('1.2.3').minor()", '2'],
    ["semver('1.2.3').patch()", '3'],
    ["semver('1.2.3') == semver('1.2.3+build')", 'true'],
    ["semver('1.2.3').compareTo(semver('1.2.3'))", '0'],
    ["semver('1.2.3').compareTo(semver('2.0.0'))", '-1'],
    ["semver('1.2.3').compareTo(semver('0.1.2'))", '1'],
    ["semver('1.10.0').isGreaterThan(semver('1.9.0'))", 'true'],
    ["semver('1.0.0-rc.1').isLessThan(semver('1.0.0'))", 'true'],
    ["semver(x, true).isLessThan(semver('1.10.0'))", 'true', 'v1.9'],
    ['semver(x)', 'error', '1'],
    ["type(semver('1.2.3')) == kubernetes.Semver", 'true'],
  ],
  quantity: [
    ["isQuantity('1.3G')", 'true'],
    ["isQuantity('1.3Gi')", 'true'],
    ["isQuantity('1,3G')", 'false'],
    ["isQuantity('10000k')", 'true'],
    ["isQuantity('200K')", 'false'],
    ["isQuantity('Three')", 'false'],
    ["isQuantity('1e')", 'false'],
    ["quantity('1.5Gi').asInteger()", '1610612736'],
    ["quantity('50000000G').isInteger()", 'true'],
    ["quantity('50k').asInteger()", '50000'],
    ["quantity('9999999999999999999999999999999999999G').isInteger()", 'false'],
    ['quantity(x).asInteger()', 'error', '9999999999999999999999999999999999999G'],
    ['quantity(x).asInteger()', 'error', '500m'],
    ["quantity('50.703k').asApproximateFloat()", '50703.0'],
    ["quantity('500m').asApproximateFloat()", '0.5'],
    ["quantity('50k').add(quantity('20k')) == quantity('70k')", 'true'],
    ["quantity('50k').add(20) == quantity('50020')", 'true'],
    ["quantity('50k').sub(quantity('20k')) == quantity('30k')", 'true'],
    ["quantity('50k').sub(20000) == quantity('30k')", 'true'],
    ["quantity('200M').compareTo(quantity('0.2G'))", '0'],
    ["quantity('50M').compareTo(quantity('50Mi'))", '-1'],
    ["quantity('150Mi').isGreaterThan(quantity('100Mi'))", 'true'],
    ["quantity('50M').isLessThan(quantity('100M'))", 'true'],
    ["quantity('-50k').sign()", '-1'],
    ["sign(quantity('0k'))", '0'],
    ["string(quantity('0.5Gi'))", '"512Mi"'],
    ["string(quantity('1.1Ki'))", '"1126400m"'],
    ["string(quantity('1000m'))", '"1"'],
    ["string(quantity('12e4'))", '"120e3"'],
    ["string(quantity('1e-12'))", '"1e-9"'],
    ["string(quantity('16Ei')) == string(quantity('9Ei'))", 'true'],
    ["type(quantity('1')) == kubernetes.Quantity", 'true'],
  ],
  otherwise: [
    // Kubernetes omits parameters that it cannot parse; a Deny rule must see them.
    ["url('/?a=1;b&c=%zz').getQuery()", '{"a": ["1;b"], "c": ["%zz"]}'],
    // Kubernetes returns true and then fails.
    ["isURL('/?a#%zz')", 'false'],
    // Kubernetes reads numbers without digits as zero.
    ["isQuantity('k')", 'false'],
    ["isQuantity('-')", 'false'],
    // In Kubernetes, the result depends on how the number is written.
    ["quantity('1000m').isInteger()", 'true'],
    ["quantity('1.0').asInteger()", '1'],
    // Kubernetes reads a third number that is omitted before a pre-release as zero.
    ["isSemver('v1.2.-1', true)", 'false'],
    // Kubernetes accepts bytes that are not UTF-8.
    ["isURL('http://a%FF/')", 'false'],
    // Kubernetes returns a negative number.
    ['semver(x).major()', 'error', '18446744073709551615.0.0'],
    // Kubernetes accepts it at any cost.
    ["isQuantity('1e999999999')", 'false'],
    // In Kubernetes, these values have no string form.
    ["toJson([url('/a'), semver('1.2.3'), quantity('1Gi')])", '"[\\"/a\\",\\"1.2.3\\",\\"1Gi\\"]"'],
    ["'%s'.format([quantity('1024Mi')])", '"1Gi"'],
  ],
} as const

const ENVIRONMENT = environment({
  name: 'test',
  variables: [{ name: 'x', type: DYN, set: 'always', doc: '' }],
})

for (const [name, cases] of Object.entries(CASES)) {
  describe(`functions of Kubernetes: ${name}`, () => {
    for (const [text, expected, x = ''] of cases as readonly (readonly string[])[]) {
      it(`${text} is ${expected}${x && `, x = ${x}`}`, async () => {
        const { expression, diagnostics } = compile(text as string, ENVIRONMENT)
        assert.ok(expression, JSON.stringify(diagnostics))
        const verdict = runAllModes(expression, await GENERATOR, { x })
        assert.deepEqual(verdict, { result: expected, disagreement: undefined })
        // The same for a string that is not known in advance.
        const literal = /'([^'\\]*)'/.exec(text as string)
        if (x !== '' || literal === null || text?.startsWith("'")) return
        const late = compile((text as string).replace(literal[0], 'x'), ENVIRONMENT).expression
        assert.equal(canonical(late?.evaluate()({ x: literal[1] as string })), expected)
      })
    }
  })
}

const GENERATOR = freshGenerator()

describe('these calls', () => {
  const calls = [
    ['url(x).getQuery()', 'url(x).getHost() + url(x).getPort()', 'url(x) == url(y)', 'isURL(x)'],
    ['semver(x, p).minor()', 'semver(x).compareTo(semver(y, true))', 'isSemver(x, p)'],
    ['quantity(x).add(quantity(y)).asInteger()', 'quantity(x).sub(3).asApproximateFloat()'],
    ['quantity(x) == quantity(y) || url(x) == url(y)', '[x].exists(e, isQuantity(e) && p)'],
    ['string(p ? dyn(quantity(x)) : dyn(semver(y)))', 'x.compareTo(y)', 'quantity(x).sign()'],
  ].flat()
  const names = ['x', 'y', 'p']
  const wide = environment({
    name: 'test',
    variables: names.map((name) => ({ name, type: DYN, set: 'always', doc: '' })),
  })
  const texts = fc.constantFrom(
    ...['https://u@a:80/b c?d=e&d', '/a', '1.2.3', '1.2.3-rc.1+b', 'v1.2', '1.5Gi', '500m', '2e3'],
    ...['', 'a b', '1e30', '-1'],
  )
  const given = fc.record({ x: fc.oneof(texts, fc.constant(1)), y: texts, p: fc.boolean() })

  it('return the same result in all execution modes', async () => {
    const generator = await freshGenerator()
    const expressions = calls.map((text) => compile(text, wide).expression)
    fc.assert(
      fc.property(fc.constantFrom(...expressions), given, (expression, variables) => {
        assert.ok(expression)
        assert.equal(runAllModes(expression, generator, variables).disagreement, undefined)
      }),
      { numRuns: 150 },
    )
  })
})

describe('constant strings that are never valid', () => {
  for (const text of ["url('a b')", "semver('1')", "quantity('1Kb')"]) {
    it(`${text} is a mistake when it is loaded`, () => {
      const { diagnostics } = compile(text, ENVIRONMENT)
      assert.deepEqual(
        diagnostics.map(({ code }) => code),
        ['PC0112'],
      )
    })
  }
})

describe('precedence of semantic versions', () => {
  const number = fc.nat({ max: 3 }).map(String)
  const identifier = fc.oneof(number, fc.constantFrom('a', 'B', 'rc', '-', '0a', '11'))
  const version = fc
    .tuple(number, number, number, fc.array(identifier, { maxLength: 3 }))
    .map(([a, b, c, pre]) => `${a}.${b}.${c}${pre.length > 0 ? `-${pre.join('.')}` : ''}`)

  /** Sorts like the version: 1 before numbers, 2 before words, 9 for no pre-release. */
  const key = (text: string) => {
    const [core = '', ...pre] = text.split('-')
    const digits = (part: string) => part.padStart(5, '0')
    const words = pre.length === 0 ? ['9'] : pre.join('-').split('.')
    const sortable = (word: string) => (/^\d+$/.test(word) ? `1${digits(word)}` : `2${word}`)
    const tail = pre.length === 0 ? words : words.map(sortable)
    return [...core.split('.').map(digits), ...tail].join('\u0001')
  }

  it('equals that of a lexically sorted key', () => {
    fc.assert(
      fc.property(version, version, (a, b) => {
        const [left, right] = [key(a), key(b)]
        const expected = left < right ? -1 : left > right ? 1 : 0
        assert.equal((parseSemver(a) as Semver).compare(parseSemver(b) as Semver), expected)
      }),
      { numRuns: 1000 },
    )
  })
})

describe('arithmetic of quantities', () => {
  const UNITS = { n: 1n, u: 10n ** 3n, m: 10n ** 6n, '': 10n ** 9n, k: 10n ** 12n, e3: 10n ** 12n }
  const BINARY = { Ki: 1024n, Mi: 1024n ** 2n, Gi: 1024n ** 3n, Ti: 1024n ** 4n }
  const units = Object.entries({
    ...UNITS,
    ...Object.fromEntries(Object.entries(BINARY).map(([name, size]) => [name, size * 10n ** 9n])),
  })
  const quantity = fc
    .tuple(fc.bigInt({ min: -(10n ** 6n), max: 10n ** 6n }), fc.constantFrom(...units))
    .map(([count, [unit, size]]) => ({ text: `${count}${unit}`, nanos: count * size }))

  it('equals that of integers in billionths', () => {
    fc.assert(
      fc.property(quantity, quantity, (a, b) => {
        const [x, y] = [parseQuantity(a.text) as Quantity, parseQuantity(b.text) as Quantity]
        assert.equal(x.plus(y.nanos, y).nanos, a.nanos + b.nanos)
        assert.equal(x.compare(y), a.nanos < b.nanos ? -1 : a.nanos > b.nanos ? 1 : 0)
        const again = parseQuantity(x.text) as Quantity
        assert.ok(again.equals(x), `${a.text} is written ${x.text}`)
        assert.equal(again.text, x.text)
      }),
      { numRuns: 1000 },
    )
  })
})

describe('the cost of parsing any string', () => {
  it('is bounded for long strings', () => {
    const long = '1'.repeat(1 << 20)
    for (const text of [long, `1.2.3-${long}`, `${long}.${long}Ki`, `1e${long}`]) {
      assert.equal(parseSemver(text), undefined)
      assert.equal(parseQuantity(text), undefined)
    }
    const path = `/${'é'.repeat(1 << 18)}`
    assert.equal(parseUrl(path), undefined, 'beyond the largest string once it is escaped')
    const { expression } = compile('isURL(x)', ENVIRONMENT)
    assert.equal(expression?.evaluate()({ x: `/${long}` } as Record<string, Value>), undefined)
  })

  it('yields a value or an error', () => {
    const piece = fc.constantFrom(...'http:// / [ ] : @ % %25 ? # a é 1 . - + e Ki v'.split(' '))
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const text = pieces.join('')
        const url = parseUrl(text)
        if (url !== undefined) assert.equal(parseUrl(url.text)?.text, url.text)
        parseSemver(text)
        parseQuantity(text)
      }),
      { numRuns: 1000 },
    )
  })
})
