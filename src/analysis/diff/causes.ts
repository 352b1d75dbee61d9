import type { Untold } from './difference.ts'

/*
 * How users read why something is not known: one line for a cause, in the words of their file. A
 * part that differs also makes the ways that it guards differ, and the calls on them.
 */

/** Leaves out what only repeats that a part differs, which is reported for the same place. */
export function oncePerCause(untold: readonly Untold[]): readonly Untold[] {
  const parts = untold.filter(({ part }) => part !== undefined)
  if (parts.length === 0) return untold
  return untold.filter((one) => {
    const kinds = one.part === undefined ? kindsIn(one.why) : []
    const isSaid = (kind: string) => parts.some((part) => isAbout(part, kind) && covers(part, one))
    return kinds.length === 0 || !kinds.every(isSaid)
  })
}

const BETWEEN = ' differs between the routes that match'

function kindsIn(why: string): readonly string[] {
  const end = why.indexOf(BETWEEN)
  const names = end < 0 ? '' : why.slice(why.lastIndexOf(': ', end) + 1, end)
  return [...names.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name)
}

/** The members of a Model that these words name. */
const MEMBERS: Readonly<Record<string, RegExp>> = {
  provider: /\.providers\[|\.(?:models|virtualModels)\b/,
  mcp: /\.targets\b|^backends\[[^\]]*\]\.options\b/,
}

function isAbout({ part = '' }: Untold, kind: string): boolean {
  return MEMBERS[kind]?.test(part) ?? policyIn(part) === kind
}

function covers(part: Untold, { kind, listener, route }: Untold): boolean {
  const isThere = part.listener === listener && (part.route === '' || part.route === route)
  return part.kind === kind && isThere
}

function policyIn(part: string): string | undefined {
  return /(?:policies|^frontend)\.(\w+)/.exec(part)?.[1]
}

const NOUNS: Readonly<Record<string, string>> = {
  gateways: 'gateway',
  listeners: 'listener',
  routes: 'route',
  tcpRoutes: 'TCP route',
  backends: 'backend',
  providers: 'provider',
  targets: 'server',
  models: 'model',
  virtualModels: 'model',
}

/** `routes[api].policies.budgets.value[0].usd` is `budgets` of route `api`. */
export function partName(part: string): string {
  if (part.includes(' ')) return part
  const setting = /^settings\.(\w+)/.exec(part)
  if (setting !== null) return `\`config.${setting[1]}\``
  const policy = policyIn(part)
  const end = policy === undefined ? part.length : part.indexOf(`.${policy}`)
  const owners = [...part.slice(0, end).matchAll(/(\w+)\[([^\]]*)\]/g)].flatMap(
    ([, list = '', name = '']) => (NOUNS[list] === undefined ? [] : [`${NOUNS[list]} \`${name}\``]),
  )
  const own = policy === undefined ? fieldIn(part) : fieldOf(policy, part.slice(end))
  if (owners.length === 0) return own === undefined ? part : `\`${own}\``
  const [inner = '', ...outer] = owners.toReversed()
  const place = [inner, ...outer].join(' of ')
  return own === undefined ? place : `\`${own}\` of ${place}`
}

/** Only the first key of the value: those below belong to the Model. */
function fieldOf(policy: string, rest: string): string {
  const [, key] = /^\.\w+\.value\.([a-z]\w*)/.exec(rest) ?? []
  return key === undefined || INTERNAL.has(key) ? policy : `${policy}.${key}`
}

/** Keys of values that a file spells in another way. */
const INTERNAL: ReadonlySet<string> = new Set(['variants', 'conditional', 'rules', 'providers'])

/** What follows the innermost item of a list. Of a server, nothing is compared but its rules. */
function fieldIn(part: string): string | undefined {
  if (part.includes('].targets[')) return undefined
  const rest = part.slice(part.lastIndexOf(']') + 1).replace(/^\./, '')
  const path = rest.replace(/^options\./, '')
  return path === '' || path === 'kind' ? undefined : path
}
