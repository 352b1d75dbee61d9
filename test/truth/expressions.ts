import type { Random } from './random.ts'

/**
 * Conditions as users write them, from few constants, so that rules overlap. Nothing here knows how
 * they are evaluated.
 */

export const PATHS = ['/', '/a', '/a/', '/a/b', '/ab', '/admin', '/admin/x', '/b', '/A']
export const HOSTS = ['a.test', 'b.test', 'c.a.test', 'x.b.test']
const ODD_HOSTS = ['', 'A.test', 'a.test:80', 'a.test.', 'localhost', 'c.test']
const METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'get', 'OPTIONS']
const HEADER_VALUES = ['1', '2', '', 'gold', '1, 2', 'a']
const HEADERS = ['x-a', 'x-b', 'X-A', 'x-a', 'x-b', 'host', 'accept']
const NAMES = ['alice', 'bob', '', 'al', 'carol']
const GROUPS = ['eng', 'ops', 'banned', 'admin', 'engineering']
const NUMBERS = ['0', '1', '3', '4', '-1', '100', '0.5', '0.9', '0.25', '1.5', '2.0', '-0.5']
const BIG = ['1e300', '1.1e300', '9007199254740991', '9007199254740993', '1e-300', '4294967296']
const NETWORKS = ['10.0.0.0/8', '10.1.0.0/16', '10.1.2.0/24', '192.0.2.0/24', '127.0.0.0/8']
const NETWORKS6 = ['2001:db8::/32', '2001:db8:1::/48', '0.0.0.0/0', '::/0', '10.1.2.3/32']
const ADDRESSES = ['10.0.0.1', '10.1.2.3', '127.0.0.1', '192.0.2.7', '2001:db8::1']
const SPIFFE = ['spiffe://td.test/ns/a', 'spiffe://td.test/ns/b', 'spiffe://td.test/ns/']
const COMMON_NAMES = ['alice', 'bob', 'al']

/** The attributes that a condition may read. */
export interface Scope {
  readonly stage: 'connection' | 'traffic' | 'backend'
  /** Conditions on tokens are more useful if a policy verifies the tokens. */
  readonly hasJwt: boolean
  readonly hasApiKey: boolean
  readonly hasCertificates: boolean
  readonly hasServerName: boolean
  readonly hasSources: boolean
  /** The topic of most conditions of the file, so that they overlap. */
  readonly focus?: Focus
}

export const FOCUSES = ['number', 'nested', 'groups', 'claim', 'path', 'host', 'header'] as const
type Focus = (typeof FOCUSES)[number]

type Maker = (random: Random) => string

const quote = (text: string) => `'${text}'`
const listOf = (random: Random, pool: readonly string[]) =>
  `[${random
    .some(pool, 1 + random.int(3))
    .map(quote)
    .join(', ')}]`
const ORDER = ['<', '<=', '>', '>=', '==', '!=']
const number = (random: Random) => (random.chance(0.15) ? random.pick(BIG) : random.pick(NUMBERS))

function text(
  attribute: string,
  pool: readonly string[],
  prefixes: readonly string[] = pool,
): Maker {
  return (random) => {
    const one = quote(random.pick(pool))
    switch (random.int(9)) {
      case 0:
      case 1:
      case 2:
        return `${attribute} == ${one}`
      case 3:
        return `${attribute} != ${one}`
      case 4:
        return `${attribute} in ${listOf(random, pool)}`
      case 5:
      case 6:
        return `${attribute}.startsWith(${quote(random.pick(prefixes))})`
      case 7:
        return random.chance(0.3) ? `${attribute}.endsWith(${one})` : `${attribute} == ${one}`
      default:
        return random.chance(0.2) ? `${attribute}.contains(${one})` : `${one} == ${attribute}`
    }
  }
}

const header: Maker = (random) => {
  const name = random.pick(HEADERS)
  if (name === 'host') return text("request.headers['host']", [...HOSTS, 'a.test:80', ''])(random)
  if (random.chance(0.25)) return `${quote(name)} in request.headers`
  if (random.chance(0.08))
    return `${quote(name)} in request.headers || !(${quote(name)} in request.headers)`
  return text(`request.headers[${quote(name)}]`, HEADER_VALUES)(random)
}

const host: Maker = (random) => text('request.host', random.chance(0.4) ? ODD_HOSTS : HOSTS)(random)

const NEVER_FALSE = [
  "request.path.startsWith('/')",
  'has(request.path)',
  "request.scheme in ['http', 'https']",
  "request.method != ''",
  'has(source.address)',
  'size(request.path) > 0',
]

const other: Maker = (random) => {
  switch (random.int(7)) {
    case 0:
      return random.pick(NEVER_FALSE)
    case 1:
      return text('request.query', ['', 'q=1', 'q=2', 'q'])(random)
    case 2:
      return `request.scheme == '${random.pick(['http', 'https'])}'`
    case 3:
      return `size(request.path) ${random.pick(ORDER)} ${random.int(4)}`
    case 4:
      return text('request.pathAndQuery', ['/a?q=1', '/a', '/', '/admin?'])(random)
    case 5:
      return `request.version == '${random.pick(['HTTP/1.1', 'HTTP/1.0', 'HTTP/2'])}'`
    default:
      return `request.path.matches('${random.pick(['^/a', '^/a$', '/admin', '^/[ab]$'])}')`
  }
}

const number1: Maker = (random) => {
  const claim = random.pick(['jwt.risk', 'jwt.level', 'jwt.risk', 'jwt.o.n'])
  const bound = number(random)
  const order = random.pick(ORDER)
  if (random.chance(0.3)) {
    return `${claim} ${random.pick(['>', '>='])} ${bound} && ${claim} ${random.pick(['<', '<='])} ${number(random)}`
  }
  return random.chance(0.1) ? `${bound} ${order} ${claim}` : `${claim} ${order} ${bound}`
}

/** Objects in claims, with the guards that precede their members. */
const nested: Maker = (random) => {
  const key = random.pick(['roles', 'roles', 'x'])
  const group = quote(random.pick(GROUPS))
  const inside = random.pick(['jwt.realm_access', 'jwt.o'])
  switch (random.int(9)) {
    case 0:
      return `'${key}' in ${inside} && ${group} in ${inside}.${key}`
    case 1:
      return `has(${inside}.${key}) && ${group} in ${inside}.${key}`
    case 2:
      return `'${key}' in ${inside}`
    case 3:
      return `${group} in ${inside}.${key}`
    case 4:
      return `${inside}.exists(k, k == '${key}') && has(${inside}.${key})`
    case 5:
      return `${inside}.${key} == ${random.pick(["'a'", '1', 'true', 'null', "['eng']", "{'y': 1}"])}`
    case 6:
      return `has(jwt.o) && has(jwt.o.x) && has(jwt.o.x.y)`
    case 7:
      return `'realm_access' in jwt && has(jwt.realm_access.roles)`
    default:
      return `size(${inside}) ${random.pick(ORDER)} ${random.int(3)}`
  }
}

const groups: Maker = (random) => {
  const group = quote(random.pick(GROUPS))
  switch (random.int(7)) {
    case 0:
    case 1:
      return `${group} in jwt.groups`
    case 2:
      return `jwt.groups.exists(g, g == ${group})`
    case 3:
      return `jwt.groups.all(g, g != ${group})`
    case 4:
      return `jwt.groups.exists(g, g.startsWith('eng'))`
    case 5:
      return `size(jwt.groups) ${random.pick(ORDER)} ${random.int(3)}`
    default:
      return `jwt.groups == [${group}]`
  }
}

const claim: Maker = (random) => {
  switch (random.int(8)) {
    case 0:
      return `has(jwt.${random.pick(['sub', 'risk', 'flag', 'tenant'])})`
    case 1:
      return `!has(jwt.${random.pick(['sub', 'risk', 'flag', 'tenant'])})`
    case 2:
      return random.pick(['jwt.flag == true', 'jwt.flag', '!jwt.flag', 'jwt.flag == false'])
    case 3:
      return `jwt.${random.pick(['sub', 'flag', 'risk', 'x'])} == ${random.pick(['null', '1', '1.0', "'1'", '0'])}`
    case 4:
      return `jwt.scope.split(' ').exists(s, s == '${random.pick(['read', 'write'])}')`
    default:
      return text(random.pick(['jwt.sub', 'jwt.sub', 'jwt.tenant', "jwt['sub']"]), NAMES)(random)
  }
}

/** Claims that the gateway itself reads from tokens. */
const registered: Maker = (random) => {
  const bound = random.pick(['0', '100', '1800000000', '3999999999', '4000000000', '4000000001'])
  switch (random.int(5)) {
    case 0:
      return `has(jwt.${random.pick(['exp', 'nbf', 'iat', 'aud', 'iss'])})`
    case 1:
      return text('jwt.iss', ['https://i.test', 'https://j.test', 'https://'])(random)
    case 2:
      return random.chance(0.5)
        ? `'x' in jwt.aud`
        : `jwt.aud == ${random.pick(["'x'", "['x']", '1'])}`
    default:
      return `jwt.${random.pick(['exp', 'exp', 'nbf', 'iat'])} ${random.pick(ORDER)} ${random.chance(0.1) ? "'x'" : bound}`
  }
}

/** Too long to be shown in full: two of them differ only at the end. */
const long: Maker = (random) => {
  const list = ['/c', '/d', '/e', '/f', '/g', '/h', '/i', '/j', random.pick(PATHS)]
  const listed = `[${list.map(quote).join(', ')}]`
  switch (random.int(3)) {
    case 0:
      return `${listed}.exists(p, request.path.startsWith(p))`
    case 1:
      return `${listed}.exists(p, request.path == p)`
    default:
      return `request.headers['x-a'].lowerAscii() == '${'x'.repeat(90)}${random.pick(['1', '2'])}'`
  }
}

const fallback: Maker = (random) => {
  const instead = quote(random.pick(NAMES))
  const attribute = random.pick(['jwt.sub', 'jwt.tenant', "request.headers['x-a']"])
  const read = random.pick([
    `default(${attribute}, ${instead})`,
    `coalesce(${attribute}, jwt.sub, ${instead})`,
    `${attribute}.with(v, v)`,
  ])
  return text(read, NAMES)(random)
}

const source: Maker = (random) => {
  const network = quote(random.chance(0.8) ? random.pick(NETWORKS) : random.pick(NETWORKS6))
  switch (random.int(5)) {
    case 0:
      return `source.address == ${quote(random.pick(ADDRESSES))}`
    case 1:
      return `source.address != ${quote(random.pick(ADDRESSES))}`
    default:
      return `cidr(${network}).containsIP(source.address)`
  }
}

const certificate: Maker = (random) => {
  switch (random.int(6)) {
    case 0:
      return random.pick(['has(source.subjectCn)', 'has(source.identity)', '!has(source.identity)'])
    case 1:
    case 2:
      return text('source.subjectCn', COMMON_NAMES)(random)
    case 3:
      return `'${random.pick(['bob.test', SPIFFE[0] as string])}' in source.subjectAltNames`
    default:
      return text('source.identity', SPIFFE)(random)
  }
}

const place: Maker = (random) =>
  random.chance(0.5)
    ? text('proxy.route', ['r0', 'r1', 'r2'])(random)
    : `proxy.listener ${random.pick(['==', '!='])} '${random.pick(['default', 'l0', 'l1'])}'`

const ABOUT: Readonly<Record<Focus, Maker>> = {
  number: number1,
  nested,
  groups,
  claim,
  path: text('request.path', PATHS),
  host,
  header,
}

function makers(scope: Scope): readonly (readonly [number, Maker])[] {
  const isRequest = scope.stage !== 'connection'
  const all: (readonly [number, Maker])[] = [
    [scope.hasSources ? 4 : 0.4, source],
    [scope.hasCertificates ? 4 : isRequest ? 0.1 : 1, certificate],
  ]
  if (scope.hasServerName || !isRequest)
    all.push([scope.hasServerName ? 4 : 0.5, text('destination.hostname', [...HOSTS, 'a.test'])])
  if (!isRequest) return all
  const token = scope.hasJwt ? 1 : 0.1
  all.push(
    [2, text('request.method', METHODS)],
    [4, text('request.path', PATHS)],
    [3, header],
    [2, host],
    [1, other],
    [2 * token, number1],
    [2 * token, nested],
    [2 * token, groups],
    [3 * token, claim],
    [0.15 * token, registered],
    [0.03, long],
    [scope.hasApiKey ? 2 : 0.05, text('apiKey.user', ['robot', 'rob', 'alice'])],
    [0.4, place],
    [0.02, fallback],
  )
  if (scope.stage === 'backend') all.push([1, text('backend.name', ['b0', 'b1', 'r0/0'])])
  if (scope.focus !== undefined) all.push([25, ABOUT[scope.focus]])
  return all
}

export function condition(random: Random, scope: Scope): string {
  const choices = makers(scope)
  const sum = choices.reduce((total, [weight]) => total + weight, 0)
  let left = random.next() * sum
  for (const [weight, maker] of choices) {
    left -= weight
    if (left <= 0) return maker(random)
  }
  return (choices[0] as readonly [number, Maker])[1](random)
}

const isCompound = (text: string) => / && | \|\| /.test(text)
const inBrackets = (text: string) => (isCompound(text) ? `(${text})` : text)

export function expression(random: Random, scope: Scope, depth = 0): string {
  const roll = random.next()
  if (depth > 1 || roll < 0.5) return condition(random, scope)
  const inner = () => inBrackets(expression(random, scope, depth + 1))
  if (roll < 0.6) return `!(${inner()})`
  if (roll < 0.8) return `${inner()} && ${inner()}`
  if (roll < 0.97) return `${inner()} || ${inner()}`
  return `${inner()} ? ${inner()} : ${inner()}`
}

/** A slight variation of an expression: a constant, an operator or a part changed. */
export function nearby(random: Random, text: string): string {
  const edits: ((text: string) => string)[] = [
    (own) => own.replace(/ (<=|>=|<|>|==|!=) /, () => ` ${random.pick(ORDER)} `),
    (own) => own.replace(/-?\b\d+(\.\d+)?(e\d+)?\b(?!\.\d)/, () => number(random)),
    (own) => own.replace(/^(.*) (?:&&|\|\|) (.*)$/, '$1'),
    (own) => own.replace(/^(.*) (?:&&|\|\|) (.*)$/, '$2'),
    (own) => own.replace(' && ', ' || '),
    (own) => own.replace(' || ', ' && '),
    (own) => `!(${own})`,
    (own) => own.replace(/'(\/[^']*)'/, () => quote(random.pick(PATHS))),
    (own) => own.replace(/'([a-z]+\.test)'/, () => quote(random.pick([...HOSTS, ...ODD_HOSTS]))),
    (own) => own.replace(/'(alice|bob|al|carol)'/, () => quote(random.pick(NAMES))),
    (own) => own.replace(/'(eng|ops|banned|admin)'/, () => quote(random.pick(GROUPS))),
    (own) => own.replace('startsWith', 'endsWith'),
    (own) => own.replace(/'\/[^']*'\]/, () => `${quote(random.pick(PATHS))}]`),
    (own) => own.replace(/(x{90})[12]/, (_, same: string) => `${same}${random.pick(['1', '2'])}`),
    (own) => own.replace(/cidr\('[^']*'\)/, () => `cidr('${random.pick(NETWORKS)}')`),
  ]
  for (let i = 0; i < 12; i++) {
    const edited = random.pick(edits)(text)
    // Text with unbalanced brackets is not an expression.
    if (edited !== text && isBalanced(edited)) return edited
  }
  return `!(${text})`
}

function isBalanced(text: string): boolean {
  let depth = 0
  for (const char of text) {
    if (char === '(' || char === '[' || char === '{') depth++
    if (char === ')' || char === ']' || char === '}') depth--
    if (depth < 0) return false
  }
  return depth === 0
}
