import { at, isTree, type Json, rulesOf, type Tree, walk, withValue } from './document.ts'
import { expression, HOSTS, nearby } from './expressions.ts'
import { jwt, match, proxyProtocol, rule, tls } from './generate.ts'
import type { Random } from './random.ts'

/** Simulates an edit of the file: mostly one small change, sometimes several. */
export function changed(random: Random, tree: Tree): Tree {
  let now = tree
  const count = random.chance(0.7) ? 1 : 2 + random.int(2)
  for (let done = 0, tries = 0; done < count && tries < 40; tries++) {
    const next = random.pick(EDITS)(random, now)
    if (next === undefined || JSON.stringify(next) === JSON.stringify(now)) continue
    now = next
    done++
  }
  return now
}

type Edit = (random: Random, tree: Tree) => Tree | undefined

const SCOPE = {
  stage: 'traffic',
  hasJwt: true,
  hasApiKey: false,
  hasCertificates: false,
  hasServerName: false,
  hasSources: false,
} as const

/** Changes one of the values that the test selects. */
function edit(
  wanted: (path: readonly (string | number)[], value: Json) => boolean,
  change: (random: Random, value: Json) => Json | undefined,
): Edit {
  return (random, tree) => {
    const found = [...walk(tree)].filter(([path, value]) => wanted(path, value))
    if (found.length === 0) return undefined
    const [path, value] = random.pick(found)
    const next = change(random, value)
    return next === value ? undefined : withValue(tree, path, next)
  }
}

const changeRule: Edit = (random, tree) => {
  const rules = rulesOf(tree)
  if (rules.length === 0) return undefined
  const { path, expression: text } = random.pick(rules)
  return withValue(tree, path, nearby(random, text))
}

export const removeRule: Edit = (random, tree) => {
  const rules = rulesOf(tree)
  return rules.length === 0 ? undefined : withoutRule(tree, random.pick(rules).path)
}

/** Removes a rule; a block without other rules is removed with it. */
export function withoutRule(tree: Tree, path: readonly (string | number)[]): Tree {
  const item = path.at(-2) === 'matchExpressions' ? path : path.slice(0, -1)
  const list = at(tree, item.slice(0, -1)) as readonly Json[]
  if (list.length > 1) return withValue(tree, item, undefined)
  const block = path.at(-2) === 'matchExpressions' ? path.slice(0, -3) : path.slice(0, -3)
  return withoutEmpty(withValue(tree, block, undefined), block.slice(0, -1))
}

function withoutEmpty(tree: Tree, path: readonly (string | number)[]): Tree {
  const value = at(tree, path)
  if (path.length === 0 || !isTree(value) || Object.keys(value).length > 0) return tree
  return withoutEmpty(withValue(tree, path, undefined), path.slice(0, -1))
}

const changeAction: Edit = (random, tree) => {
  const rules = rulesOf(tree).filter(({ path }) => path.at(-3) === 'rules')
  if (rules.length === 0) return undefined
  const { path, expression: text } = random.pick(rules)
  const action = random.pick(['allow', 'require', 'deny'])
  return withValue(tree, path.slice(0, -1), { [action]: text })
}

const addRule = edit(
  (path, value) => path.at(-1) === 'rules' && Array.isArray(value),
  (random, value) => [...(value as readonly Json[]), rule(random, SCOPE)],
)

/** Adds rules to an open route. */
const addBlock = edit(
  (path, value) => path.at(-2) === 'routes' && isTree(value) && value['policies'] === undefined,
  (random, value) => ({
    ...(value as Tree),
    policies: { authorization: { rules: [rule(random, { ...SCOPE, hasJwt: false })] } },
  }),
)

const EDITS: readonly Edit[] = [
  changeRule,
  changeRule,
  changeRule,
  removeRule,
  removeRule,
  addRule,
  changeAction,
  addBlock,
  edit(
    (path) => path.at(-1) === 'hostnames',
    (random, value) =>
      random.chance(0.3) ? undefined : random.some([...HOSTS, '*.test'], 1 + (value as []).length),
  ),
  edit(
    (path, value) => path.at(-2) === 'routes' && isTree(value) && value['hostnames'] === undefined,
    (random, value) => ({ ...(value as Tree), hostnames: random.some(HOSTS, 1) }),
  ),
  edit(
    (path) => path.at(-1) === 'matches',
    (random) => (random.chance(0.4) ? undefined : [match(random)]),
  ),
  edit(
    (path, value) => path.at(-2) === 'routes' && isTree(value) && value['matches'] === undefined,
    (random, value) => ({ ...(value as Tree), matches: [match(random)] }),
  ),
  edit(
    (path) => path.at(-1) === 'jwtAuthentication',
    (random) => (random.chance(0.2) ? undefined : jwt(random)),
  ),
  edit(
    (path) => path.at(-1) === 'tls',
    (random, value) =>
      random.chance(0.25)
        ? undefined
        : tls(random, random.chance(0.6) || (value as Tree)['root'] === undefined),
  ),
  edit(
    (path) => path.at(-1) === 'proxyProtocol',
    (random) => (random.chance(0.2) ? undefined : proxyProtocol(random)),
  ),
  edit(
    (path) => path.at(-1) === 'networkAuthorization',
    () => undefined,
  ),
  edit(
    (path, value) => path.at(-1) === 'mode' && (value === 'Audit' || value === 'Enforce'),
    () => undefined,
  ),
  edit(
    (path) => path.at(-2) === 'listeners',
    (_, value) => {
      const { hostname: _name, ...rest } = value as Tree
      return { ...rest, hostname: HOSTS[2] as string }
    },
  ),
  (random, tree) => {
    const routes = tree['routes'] as readonly Json[]
    if (routes.length < 2) return undefined
    const order = random.chance(0.5) ? routes.toReversed() : routes.slice(1)
    return { ...tree, routes: order }
  },
  edit(
    (path) => path.at(-2) === 'policies' && typeof path.at(-1) === 'number',
    () => undefined,
  ),
  // Another spelling with the same meaning: a reported change is a false statement.
  edit(
    (path) => path.at(-1) === 'rules',
    (_, value) => (value as readonly Json[]).toReversed(),
  ),
  edit(
    (path, value) => typeof value === 'string' && path.at(-3) === 'rules',
    (_, value) => `(${value as string})`,
  ),
  (random, tree) => {
    const rules = rulesOf(tree)
    if (rules.length === 0) return undefined
    const { path, expression: text } = random.pick(rules)
    return withValue(
      tree,
      path,
      `${text} || ${expression(random, { ...SCOPE, stage: path.includes('networkAuthorization') ? 'connection' : 'traffic' })}`,
    )
  },
]
