/** A request made as expensive as its sender can make it, and the rules that evaluate it. */
export interface Attack {
  readonly name: string
  readonly rules?: readonly Readonly<Record<string, string>>[]
  /** Policies of the route besides the rules. */
  readonly policies?: Readonly<Record<string, unknown>>
  /** The backend of the route, if it is more than an address. */
  readonly backendOf?: (host: string) => object
  /** The body is read without `policies` too: the cost of reading is measured separately. */
  readonly isReadAnyway?: true
  /** The cost is in a server's response, which clients do not control: it must not delay others. */
  readonly isOfServer?: true
  readonly path?: string
  readonly body?: string | Uint8Array
  readonly headers?: Readonly<Record<string, string>>
  readonly claims?: Readonly<Record<string, unknown>>
}

const BODY = 2 << 20
/** Leaves room for a token and the rest of the head. */
const HEADER = 28_000

const times = (count: number, rule: (n: number) => Readonly<Record<string, string>>) =>
  Array.from({ length: count }, (_, n) => rule(n))
const denyModel = (n: number) => ({ deny: `json(request.body).model == 'evil-${n}'` })
const requireModel = (n: number) => ({ require: `json(request.body).model != 'evil-${n}'` })
const allowModel = (n: number) => ({ allow: `json(request.body).model == 'good-${n}'` })
const EIGHT = times(8, denyModel)

/** A string of as many parts as fit into `max`. */
export function filled(
  before: string,
  part: (n: number) => string,
  after: string,
  max = BODY,
): string {
  const parts = [before]
  let length = before.length + after.length
  for (let n = 0; ; n++) {
    const next = part(n)
    if (length + next.length > max) break
    parts.push(next)
    length += next.length
  }
  return parts.join('') + after
}

const LIST = Array.from({ length: 300 }, (_, n) => n)
const DEEP = `${'['.repeat(190)}${']'.repeat(190)},`
const BASE64 = 'QUJDREVG0123abcd'

const documents: readonly (readonly [string, string])[] = [
  ['a vision prompt', filled('{"model":"x","image":"', () => BASE64, '"}')],
  [
    'the same with \\/',
    filled('{"model":"x","image":"', (n) => (n % 4 ? BASE64 : `${BASE64}\\/`), '"}'),
  ],
  ['a long text in Chinese', filled('{"model":"x","a":"', () => '城门', '"}', BODY / 3)],
  ['one escaped name', filled('{"\\u006dodel":"x","a":"', () => BASE64, '"}')],
  ['escaped names', filled('{"model":"x"', (n) => `,"\\u0061${n}":1`, '}')],
  ['a wide object', filled('{"model":"x"', (n) => `,"a${n}":1`, '}')],
  ['a wide object that is read', filled('{"model":"x"', (n) => `,"a${n}":1`, '}', 80_000)],
  ['small objects', filled('{"model":"x","a":[0', (n) => `,{"a${n}":1}`, ']}', 80_000)],
  ['one name many times', filled('{"model":"x"', () => ',"model":1', '}', 60_000)],
  ['[[[…]]]', '['.repeat(BODY)],
  ['[[[…]]] of depth 190', filled('[', () => DEEP, '0]')],
  ['empty lists', filled('[0', () => ',[]', ']', 80_000)],
  ['numbers', filled('[0', () => ',1', ']')],
  ['numbers of 19 digits', filled('[0', (n) => `,${1_000_000_000_000_000_000n + BigInt(n)}`, ']')],
  ['such numbers as are read', filled('[0', () => ',1234567890123456789', ']', 80_000)],
  ['one number of 2 MiB', filled('[1', () => '0123456789', ']')],
  ['short strings', filled('["a"', (n) => `,"${n}"`, ']', 300_000)],
  ['escapes', filled('{"model":"x","a":"', () => '\\n', '"}')],
  ['quotes in a text', filled('{"model":"x","a":"', () => '\\"', '"}')],
  ['backslashes', filled('{"model":"x","a":"', () => '\\\\', '"}')],
  ['blanks', filled('[', () => '        ', ']')],
  ['colons behind a text', filled(`{"${'a'.repeat(BODY / 2)}"`, () => ':', '}')],
  ['quotes alone', '"'.repeat(BODY)],
  ['surrogate pairs', filled('["a"', () => ',"\\ud83d\\ude00"', ']')],
]

const body = (text: string) => ({ body: text })
const text = filled('', () => 'forbidde', '')
const nested = 'jwt.list.map(x, jwt.list.map(y, jwt.s + string(y) + string(x))).size() > 0'
const words = { list: LIST, s: 'abc', words: LIST.map((n) => `word-${n}`) }
const loops = { claims: words }

export const RULE_ATTACKS: readonly Attack[] = [
  ...documents.map(([name, document]) => ({
    name: `8 Deny on json(request.body): ${name}`,
    rules: EIGHT,
    ...body(document),
  })),
  {
    name: '8 Require on json(request.body): a wide object',
    rules: times(8, requireModel),
    body: filled('{"model":"x"', (n) => `,"a${n}":1`, '}', 80_000),
  },
  {
    name: '8 Allow on json(request.body), none matches: a wide object',
    rules: times(8, allowModel),
    body: filled('{"model":"x"', (n) => `,"a${n}":1`, '}', 80_000),
  },
  {
    name: '8 Allow on json(request.body), none matches: a vision prompt',
    rules: times(8, allowModel),
    body: filled('{"model":"x","image":"', () => BASE64, '"}'),
  },
  {
    name: 'loops over json(request.body)',
    rules: times(8, (n) => ({
      deny: `json(request.body).exists(x, json(request.body).exists(y, x == y + ${n + 1}))`,
    })),
    body: filled('[1', () => ',1', ']', 60_000),
  },
  {
    name: 'json() of a header, 8 Deny',
    rules: times(8, (n) => ({ deny: `json(request.headers['x-json']).a == ${n}` })),
    headers: { 'x-json': filled('{"a":-1', (n) => `,"\\u0061${n}":1`, '}', HEADER) },
  },
  {
    name: 'json() of a header with something behind it, in a loop',
    rules: [
      {
        deny: "jwt.list.exists(x, json(request.headers['x-json'] + (x % 2 == 0 ? ' ' : '  ')).a == x)",
      },
    ],
    headers: { 'x-json': filled('{"a":-1', (n) => `,"a${n}":1`, '}', HEADER) },
    ...loops,
  },
  ...['deny', 'require', 'allow'].map((action) => ({
    name: `map() in map() over claims, ${action}`,
    rules: [{ [action]: nested }],
    ...loops,
  })),
  ...['deny', 'require', 'allow'].map((action) => ({
    name: `the same in 8 rules, ${action}`,
    rules: times(8, (n) => ({ [action]: `${nested} && size(request.path) == ${1_000 + n}` })),
    ...loops,
  })),
  {
    name: 'a denial to explain: a Require within the bound',
    rules: [{ require: 'jwt.list.all(x, jwt.list.filter(y, y < 150).size() > x)' }],
    ...loops,
  },
  {
    name: 'a denial to explain: 64 Allow rules with loops',
    rules: times(64, (n) => ({ allow: `jwt.list.exists(x, x == ${n + 1_000} || x < 0)` })),
    ...loops,
  },
  {
    name: 'a denial to explain: names of a large claim',
    rules: [{ require: "jwt.map.missing == 'x'" }],
    claims: { map: Object.fromEntries(LIST.map((n) => [`name-${n}`, `value-${n}`])) },
  },
  {
    name: '8 Deny on the text of a body',
    rules: times(8, (n) => ({ deny: `string(request.body).contains('forbidden-${n}')` })),
    ...body(text),
  },
  {
    name: '8 Deny on the text of a body, short ones',
    rules: times(8, (n) => ({ deny: `string(request.body).contains('forbidden-${n}')` })),
    ...body(text.slice(0, 256 * 1024)),
  },
  ...[BODY, 256 * 1024, 64 * 1024].map((size) => ({
    name: `8 regular expressions on a body of ${size >> 10} KiB`,
    rules: times(8, (n) => ({
      deny: `string(request.body).matches('(?i)(a|for)+bidd[a-f]+n${n}$')`,
    })),
    ...body(text.slice(0, size)),
  })),
  {
    name: 'a regular expression from a header',
    rules: times(8, (n) => ({
      deny: `request.headers['x-text'].matches(request.headers['x-pattern'] + '${n}')`,
    })),
    headers: { 'x-text': 'a'.repeat(HEADER), 'x-pattern': `(${'a?'.repeat(200)}|b){1,20}c` },
  },
  ...[
    'size() == 1',
    "lastIndexOf('x') == 1",
    "indexOf('forbidx') == 1",
    "replace('f', 'ffffffff') == ''",
    "split('').size() == 1",
    "split('f').size() == 1",
    "lowerAscii() == ''",
    "trim() == ''",
    "reverse() == ''",
    "substring(100000) == ''",
    "charAt(500000) == 'x'",
    "regexReplace('f(o)', 'x') == ''",
    "startsWith('y')",
  ].map((call) => ({
    name: `8 × string(request.body).${call.split('(')[0]}()`,
    rules: times(8, (n) => ({
      deny: `string(request.body).${call} && size(request.path) == ${1_000 + n}`,
    })),
    ...body(text),
  })),
  ...[
    ['blanks', ' '.repeat(BODY), "trim() == ''"],
    ['pairs', '\u{1f600}'.repeat(BODY / 4), 'size() == 1'],
    ['pairs', '\u{1f600}'.repeat(BODY / 4), "substring(400000, 500000) == ''"],
    ['pairs', '\u{1f600}'.repeat(BODY / 4), "lastIndexOf('x') == 1"],
    ['short ones', text.slice(0, 100_000), "split('f').size() == 1"],
    ['short ones', text.slice(0, 20_000), "reverse() == ''"],
    ['short ones', text.slice(0, 100_000), "replace('f', 'ff') == ''"],
  ].map(([what, bytes = '', call = '']) => ({
    name: `8 × string(request.body).${call.split('(')[0]}() of ${what}`,
    rules: times(8, (n) => ({
      deny: `string(request.body).${call} && size(request.path) == ${1_000 + n}`,
    })),
    body: bytes,
  })),
  ...['int', 'double', 'timestamp', 'duration', 'ip', 'cidr', 'base64.decode', 'url.decode'].map(
    (name) => ({
      name: `8 × ${name}() of a body`,
      rules: times(8, (n) => ({
        deny: `dyn(${name}(string(request.body))) == '' && size(request.path) == ${1_000 + n}`,
      })),
      body: '1'.repeat(BODY),
    }),
  ),
  {
    name: '8 parameters of a query',
    rules: times(8, (n) => ({
      deny: `('?' + request.headers['x-query']).query('a${n}').size() > 9`,
    })),
    headers: { 'x-query': 'b&'.repeat(HEADER / 2) },
  },
  {
    name: '8 regular expressions with classes from a header',
    rules: times(8, (n) => ({ deny: `'a'.matches(request.headers['x-pattern'] + '${n}')` })),
    headers: { 'x-pattern': '[\\pL\\pN]'.repeat(90) },
  },
  {
    name: 'a body that is compared with itself',
    rules: times(8, (n) => ({
      deny: `request.body == bytes(string(request.body)) && size(request.path) == ${1_000 + n}`,
    })),
    ...body(text),
  },
  {
    name: 'hashes and base64 of a body',
    rules: times(8, (n) => ({
      deny: `sha256.encode(base64.encode(request.body)) == '${n}'`,
    })),
    ...body(text.slice(0, 700_000)),
  },
  ...[
    'sort().size() == 1',
    'distinct().size() == 1',
    "map(x, string(x)).join('-') == ''",
    "map(x, '%s-%d'.format([jwt.words, x])).size() == 1",
    'sortBy(x, -x).size() == 1',
    'flatten().size() == 1',
    'map(x, jwt.words).flatten().distinct().size() == 1',
    'map(x, toJson(jwt.words)).size() == 1',
    'map(x, jwt.words == jwt.words).size() == 1',
    "map(x, jwt.words.join('-').contains(jwt.words.join('+'))).size() == 1",
  ].map((call) => ({
    name: `8 × jwt.list.${call.length > 44 ? `${call.slice(0, 44)}…` : call}`,
    rules: times(8, (n) => ({ deny: `jwt.list.${call} && size(request.path) == ${1_000 + n}` })),
    ...loops,
  })),
  // Many rules, each of which scans a long header once.
  ...[
    "contains('ab%')",
    "contains('aaaaaaab%')",
    "matches('ab%')",
    "matches('(a|b)*c%')",
    "indexOf('ab%') > 0",
    "lowerAscii().contains('ab%')",
    "upperAscii() == 'B%'",
    "reverse() == 'b%'",
    "replace('a', 'b') == '%'",
  ].map((call) => ({
    name: `500 Deny on a header: ${call.replace('%', '…')}`,
    rules: times(500, (n) => ({
      deny: `request.headers['x-text'].${call.replace('%', String(n))}`,
    })),
    headers: { 'x-text': 'a'.repeat(HEADER) },
  })),
  {
    name: 'a body, loops and a denial to explain at once',
    rules: [
      ...EIGHT,
      ...times(3, (n) => ({
        deny: `jwt.list.exists(x, jwt.list.exists(y, x + y == -${n + 1}))`,
      })),
      { require: 'jwt.list.all(x, jwt.list.filter(y, y < 150).size() > x)' },
    ],
    body: filled('{"model":"x","image":"', () => BASE64, '"}'),
    ...loops,
  },
  // Exhausts every budget: reading, evaluating, explaining, and evaluating without an explanation.
  ...(['deny', 'require', 'allow'] as const).map((action) => ({
    name: `every budget at once, ${action}`,
    rules: [
      { deny: 'json(request.body).a.exists(x, x == 2)' },
      { deny: `jwt.list.exists(x, [${LIST.slice(0, 20)}].exists(y, x + y == -1))` },
      ...times(8, (n) => ({
        [action]: `${nested} && json(request.headers['x-json']).a == ${n}`,
      })),
    ],
    headers: { 'x-json': filled('{"a":-1', (n) => `,"a${n}":1`, '}', HEADER / 4) },
    body: `${filled('{"a":[0', () => ',1', '', 60_000)}],"image":"${BASE64.repeat(1 << 16)}"}`,
    ...loops,
  })),
]
