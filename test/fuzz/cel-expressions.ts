import fc from 'fast-check'
import { anyDouble, anyInt, anyString, anyUint, literal } from './cel-values.ts'

type Text = fc.Arbitrary<string>

/**
 * Well-typed expressions as strings, over the variables of cel-values.ts. A macro binds a name that
 * is also a variable of the same type, so that any string of a type is valid wherever that type is
 * expected.
 */
export function anyExpression(): Text {
  return anyOf(GRAMMAR)
}

/** The same, including `default`, `coalesce`, `with`, `mapValues` and `filterKeys`. */
export function anyOwnExpression(): Text {
  return anyOf(OWN)
}

function anyOf(kinds: typeof GRAMMAR): Text {
  return fc.oneof(
    { weight: 5, arbitrary: kinds.bool },
    { weight: 2, arbitrary: kinds.int },
    { weight: 2, arbitrary: kinds.string },
    { weight: 1, arbitrary: kinds.uint },
    { weight: 1, arbitrary: kinds.double },
    { weight: 1, arbitrary: kinds.bytes },
    { weight: 1, arbitrary: kinds.timestamp },
    { weight: 1, arbitrary: kinds.duration },
    { weight: 1, arbitrary: kinds.ints },
    { weight: 1, arbitrary: kinds.strings },
    { weight: 1, arbitrary: kinds.dyn },
  )
}

/**
 * Generic calls over values of unknown type, or of known and unknown types together, nested in
 * expressions that require a specific type.
 */
export function anyGenericCall(): Text {
  const { dyn, ints, strings, map } = GRAMMAR
  const list = fc.oneof(
    { weight: 2, arbitrary: among('j.a', 'j.b', 'j.c', 'dyn(li)', 'dyn(ls)') },
    { weight: 3, arbitrary: among('dyn([1, 2])', "dyn(['a', '5'])", "dyn([5, 'a', true])") },
    { weight: 2, arbitrary: form('dyn([$, $])', dyn, dyn) },
    { weight: 1, arbitrary: dyn },
  )
  const either = fc.oneof(list, ints, strings)
  const members = fc.oneof(among('j.a', 'j', "dyn({'a': 5})", "dyn({'a': '5'})", 'dyn(m)'), map)
  const place = among('0', '1')
  const inner = fc.oneof(
    form('$.$().value()', list, among('first', 'last')),
    form('$.$()[$]', list, among('sort', 'distinct', 'reverse', 'flatten'), place),
    form('$.slice(0, 1)[0]', list),
    form('$.sortBy(e, e)[$]', list, place),
    form('($ + $)[$]', either, either, place),
    form('([$] + $)[$]', either, list, place),
    form('$.merge($).a', members, members),
    form("merge($, $)['a']", members, members),
    form('$.first().orValue($)', either, dyn),
    form('optional.of($).or($.first()).value()', either, list),
    form('optional.none().or($.last()).orValue($)', list, either),
    form('$[?$].orValue($)', list, place, either),
    form('$.?a.orValue($)', members, either),
    form('$.first().optMap(e, [e] + $).value()[$]', list, either, place),
    form('$.transformList(k, e, e).first().value()', list),
  )
  return fc.oneof(
    form('$($)', among('string', 'int', 'double', 'size', 'type', 'bool'), inner),
    form('($ $ $)', inner, among('==', '!=', '<', '+', 'in'), fc.oneof(inner, dyn)),
    form('$.$($)', inner, among('startsWith', 'contains', 'indexOf'), among("'a'", 's')),
    form('($ ? $ : $)', among('p'), inner, inner),
  )
}

/** Fills the holes (`$`) of a template in order. */
function form(template: string, ...parts: readonly Text[]): Text {
  const pieces = template.split('$')
  return fc
    .tuple(...parts)
    .map((texts) => pieces.map((piece, at) => piece + (texts[at] ?? '')).join(''))
}

function among(...texts: readonly string[]): Text {
  return fc.constantFrom(...texts)
}

const COMPARED = among('==', '!=', '<', '<=', '>', '>=')
const EQUATED = among('==', '!=')
const ARITHMETIC = among('+', '-', '*', '/', '%')
const ZONES = among('', "'UTC'", "'+02:00'", "'-11:30'", "'America/New_York'", "'Asia/Kathmandu'")
const DATE_PARTS = among(
  ...`FullYear Month DayOfYear DayOfMonth Date DayOfWeek Hours Minutes Seconds Milliseconds`.split(
    ' ',
  ),
)
const PATTERNS = among(
  "'^a'",
  "'b$'",
  "'a+b*'",
  "'[a-c]{2}'",
  "'^(a|b)+$'",
  "'.'",
  "'\\\\d+'",
  "'(?i)A'",
)

const NUMERALS = among(
  "'12'",
  "'-7'",
  "'0'",
  "'9223372036854775807'",
  "'1.5'",
  "'1e3'",
  "'-0'",
  "'x'",
)
const INSTANTS = among(
  "'2020-02-29T12:34:56.789Z'",
  "'1969-12-31T23:59:59.999999999-07:00'",
  "'0001-01-01T00:00:00Z'",
  "'9999-12-31T23:59:59Z'",
  "'2021-02-29T00:00:00Z'",
  '0',
  '-1',
  '253402300799',
)
const SPANS = among("'1h30m'", "'-1.5s'", "'0'", "'1us'", "'100000h'", "'1d'", "'2562047h'")

/**
 * Includes the forms that only this CEL implementation has, or omits them so that other
 * implementations can be compared.
 */
function grammar(withOwnForms: boolean) {
  return fc.letrec<Record<Kind, string>>((tie) => {
    const bool = tie('bool')
    const int = tie('int')
    const uint = tie('uint')
    const double = tie('double')
    const string = tie('string')
    const bytes = tie('bytes')
    const timestamp = tie('timestamp')
    const duration = tie('duration')
    const ints = tie('ints')
    const strings = tie('strings')
    const map = tie('map')
    const dyn = tie('dyn')
    // All kinds share one depth; otherwise each kind would grow anew inside another.
    const depthIdentifier = fc.createDepthIdentifier()
    const grown = {
      depthIdentifier,
      maxDepth: 5,
      depthSize: 'small',
      withCrossShrink: true,
    } as const
    const choose = (...texts: [Text, ...Text[]]) => fc.oneof(grown, ...texts)
    // Mostly valid positions and convertible strings, since otherwise every second result is an
    // error.
    const place = fc.oneof({ weight: 4, arbitrary: among('0', '1', '2', '-1') }, int)
    const numeral = fc.oneof({ weight: 4, arbitrary: NUMERALS }, string)
    const instant = fc.oneof({ weight: 4, arbitrary: INSTANTS }, string)
    const span = fc.oneof({ weight: 4, arbitrary: SPANS }, string)
    const divided = fc.oneof({ weight: 2, arbitrary: among('3', '-7', '10') }, int)
    const ternary = (kind: Text) => form('($ ? $ : $)', bool, kind, kind)
    // The checker accepts null wherever it accepts one of these types.
    const nullable = (kind: Text) =>
      fc.oneof(
        form('($ ? null : $)', bool, kind),
        form('[null, $][$]', kind, place),
        form('optional.of($ ? null : $).value()', bool, kind),
        form('[$ ? null : $].$().value()', bool, kind, among('first', 'last')),
        form('optional.none().orValue($ ? null : $)', bool, kind),
      )
    const absent = among('unset', 'j.zz', 'm.zz', 'j.a.zz', 'j.b.zz.zz', 'j["a"].b', 'dyn(null)')
    const own = (...texts: readonly Text[]) => (withOwnForms ? texts : [])
    const instead = (kind: Text) =>
      fc.oneof(
        form('default($, $)', kind, kind),
        form('default($, $)', fc.oneof(absent, dyn), kind),
        form('default(default($, $), $)', fc.oneof(absent, kind), dyn, kind),
        form('coalesce($, $)', fc.oneof(absent, kind), kind),
        form('coalesce($, $, $)', fc.oneof(absent, dyn), kind, dyn),
      )
    return {
      bool: choose(
        among('true', 'false', 'p'),
        form('($ $ $)', int, COMPARED, int),
        form('($ $ $)', uint, COMPARED, uint),
        form('($ $ $)', double, COMPARED, double),
        form('($ $ $)', string, COMPARED, string),
        form('($ $ $)', bytes, COMPARED, bytes),
        form('($ $ $)', timestamp, COMPARED, timestamp),
        form('($ $ $)', duration, COMPARED, duration),
        form('($ $ $)', bool, COMPARED, bool),
        form('($ $ $)', ints, EQUATED, ints),
        form('($ $ $)', strings, EQUATED, strings),
        form('($ $ $)', map, EQUATED, map),
        form('($ $ $)', dyn, EQUATED, dyn),
        form('($ $ $)', int, among('<', '<=', '>', '>='), double),
        form('($ $ $)', uint, among('<', '<=', '>', '>='), int),
        form('($ && $)', bool, bool),
        form('($ || $)', bool, bool),
        form('($ && $)', bool, bool),
        form('($ || $)', bool, bool),
        form('!$', bool),
        form('!$', bool),
        form('!$', bool),
        ternary(bool),
        form('$.$($)', string, among('startsWith', 'endsWith', 'contains'), string),
        form('$.matches($)', string, PATTERNS),
        form('($ in $)', int, ints),
        form('($ in $)', string, strings),
        form('($ in $)', string, map),
        form('($ in [$, $])', string, string, string),
        form('has(m.$)', among('a', 'b', 'zz')),
        form('has(j.$)', among('a', 'b', 'a.b', 'a.a', 'sub')),
        form('$.$(i, $)', ints, among('all', 'exists', 'exists_one'), bool),
        form('$.$(s, $)', strings, among('all', 'exists', 'exists_one'), bool),
        form('$.$(s, $)', map, among('all', 'exists', 'exists_one'), bool),
        form('(type($) == $)', dyn, among('int', 'string', 'bool', 'list', 'map', 'null_type')),
        ...own(instead(bool), form('$.with(s, $)', string, bool), form('$.with(i, $)', int, bool)),
        form('bool($)', fc.oneof(among("'true'", "'false'", "'T'", "'0'"), string)),
        form('(unset == $)', string),
      ),
      int: choose(
        fc.oneof(among('i', 'i2'), anyInt.map(literal)),
        form('($ $ $)', int, ARITHMETIC, int),
        form('($ $ $)', int, among('/', '%', '+', '-'), divided),
        form('-($)', int),
        form('int($)', fc.oneof(uint, double, numeral, timestamp)),
        form('size($)', fc.oneof(string, bytes, ints, strings, map)),
        form('$[$]', ints, place),
        form('$[$]', map, string),
        form('m.$', among('a', 'b', 'zz')),
        ternary(int),
        form('$.indexOf($)', string, string),
        // If the elements of a list have different types, its element type is unknown.
        form('(1 + ($ + [dyn($)])[$])', ints, fc.oneof(int, string), place),
        form('(1 + [$, dyn($)][$])', int, fc.oneof(int, string), place),
        form('(1 + (p ? $ : dyn($)))', int, fc.oneof(int, string)),
        ...own(
          instead(int),
          form('$.with(i, $)', int, int),
          form('default(1 + $, $)', dyn, int),
          form('default($.map(s, m[s])[0], $)', map, int),
        ),
        form('$.get$($)', timestamp, DATE_PARTS, ZONES),
        form('$.get$()', duration, among('Hours', 'Minutes', 'Seconds', 'Milliseconds')),
      ),
      uint: choose(
        fc.oneof(among('u'), anyUint.map(literal)),
        form('($ $ $)', uint, ARITHMETIC, uint),
        form('uint($)', fc.oneof(int, double, numeral)),
        ternary(uint),
      ),
      double: choose(
        fc.oneof(among('d'), anyDouble.map(literal)),
        form('($ $ $)', double, among('+', '-', '*', '/'), double),
        form('-($)', double),
        form('double($)', fc.oneof(int, uint, numeral)),
        ternary(double),
      ),
      string: choose(
        fc.oneof(among('s', 's2', 's', 's2', 'unset'), anyString.map(literal)),
        form('($ + $)', string, string),
        form('string($)', fc.oneof(int, uint, bool, bytes, timestamp, duration, double)),
        form('$.charAt($)', string, place),
        form('$.substring($)', string, place),
        form('$.substring($, $)', string, place, place),
        form('$.replace($, $)', string, string, string),
        form('$.$()', string, among('lowerAscii', 'upperAscii', 'trim')),
        form('$[$]', strings, place),
        form('$.join($)', strings, string),
        ...own(
          instead(string),
          form('$.with(s2, $)', string, string),
          form('default($.filter(s, m[s] > 0)[0], $)', strings, string),
        ),
        ternary(string),
      ),
      bytes: choose(
        fc.oneof(among('b'), form("b'$'", among('', 'a', '\\xff\\x00', 'é'))),
        form('($ + $)', bytes, bytes),
        form('bytes($)', string),
        ternary(bytes),
      ),
      timestamp: choose(
        fc.oneof(among('t', 't2', "timestamp('2020-02-29T23:59:59.999999999Z')")),
        form('($ $ $)', timestamp, among('+', '-'), duration),
        form('timestamp($)', instant),
        ternary(timestamp),
        ...own(instead(timestamp), nullable(timestamp)),
      ),
      duration: choose(
        fc.oneof(among('r', "duration('1h30m0.5s')", "duration('-1ns')")),
        form('($ $ $)', duration, among('+', '-'), duration),
        form('($ - $)', timestamp, timestamp),
        form('duration($)', span),
        ternary(duration),
        ...own(instead(duration), nullable(duration)),
      ),
      ints: choose(
        fc.oneof(among('li', '[1, 2, 3]'), form('[$]', int)),
        form('[$, $]', int, int),
        form('($ + $)', ints, ints),
        form('$.filter(i, $)', ints, bool),
        form('$.map(i, $)', ints, int),
        form('$.map(i, $, $)', ints, bool, int),
        form('$.map(s, m[s])', map),
        ternary(ints),
      ),
      strings: choose(
        fc.oneof(among('ls', "['a', 'b']"), form('[$]', string)),
        form('($ + $)', strings, strings),
        form('$.split($)', string, string),
        form('$.filter(s, $)', strings, bool),
        form('$.map(s, $)', strings, string),
        form('$.map(i, $)', ints, string),
        ternary(strings),
      ),
      map: choose(
        among('m', "{'a': 1, 'b': -1}"),
        form('{$: $}', string, int),
        form('{$: $, $: $}', string, int, string, int),
        ...own(
          form('$.mapValues(i, $)', map, int),
          form('$.filterKeys(s, $)', map, bool),
          instead(map),
        ),
        ternary(map),
      ),
      dyn: choose(
        among('j.a', 'j.b', 'j.a.b', 'j["c"]', 'j.sub', 'dyn(null)', 'j.a[0]', 'j.a["b"]'),
        form('dyn($)', fc.oneof(int, uint, double, string, bool, bytes, ints, strings, map)),
        form('dyn([dyn($), $])', int, string),
        ...own(
          instead(dyn),
          form('dyn($).mapValues(i, i)', fc.oneof(map, ints)),
          form('dyn($).filterKeys(s, $)', fc.oneof(map, ints), bool),
        ),
        form('dyn({$: $})', int, double),
      ),
    }
  })
}

const GRAMMAR = grammar(false)
const OWN = grammar(true)

type Kind =
  | 'bool'
  | 'int'
  | 'uint'
  | 'double'
  | 'string'
  | 'bytes'
  | 'timestamp'
  | 'duration'
  | 'ints'
  | 'strings'
  | 'map'
  | 'dyn'
