import { isTree, type Json, type Tree, walk, withValue } from './document.ts'
import { type Place, settings } from './generate.ts'
import type { Random } from './random.ts'

/** Files that serve models, edits of them, and calls. Nothing here knows how calls are evaluated. */

const MODELS = ['a', 'b', 'gpt-4', 'gpt-4o', 'o1-mini']
const PATTERNS = ['*', 'gpt-*', '*-mini']
const KINDS = ['openAI', 'openAI', 'openAI', 'anthropic', 'gemini'] as const
const quote = (text: string) => `'${text}'`

export function modelDocument(random: Random, place: Place): Tree {
  const config = settings([])
  const gateways = { default: { port: place.ports[0] as number } }
  const host = (index: number) => `127.0.0.1:${place.backends[index % place.backends.length]}`
  const plain: Tree = { name: 'plain', hostnames: ['plain.test'], backends: [{ host: host(7) }] }
  if (random.chance(0.45)) {
    return { config, gateways, routes: [plain], llm: byName(random, host) }
  }
  const count = random.chance(0.65) ? 1 : 2
  const all = Array.from({ length: count }, (_, index) => provider(random, index, host(index)))
  const groups =
    random.chance(0.5) || count === 1
      ? [{ providers: all }]
      : all.map((one) => ({ providers: [one] }))
  const allowed = random.chance(0.1) ? { allowEndpoints: ['/v1/files'] } : {}
  const policies = onRoute(random)
  const api: Tree = {
    name: 'api',
    ...(random.chance(0.3) ? { matches: [match(random)] } : {}),
    ...(Object.keys(policies).length === 0 ? {} : { policies }),
    backends: [{ ai: { ...allowed, groups } }],
  }
  return { config, gateways, routes: [api, plain] }
}

function match(random: Random): Tree {
  const path = random.pick<Tree>([
    { pathPrefix: '/v1' },
    { pathPrefix: '/v1/chat' },
    { exact: '/v1/messages' },
    { pathPrefix: '/x' },
  ])
  return { path }
}

function onRoute(random: Random): Tree {
  return {
    ...(random.chance(0.25)
      ? { authorization: { rules: [rule(random, random.pick(TRAFFIC))] } }
      : {}),
    ...(random.chance(0.1) ? limit(random) : {}),
  }
}

const TRAFFIC = [
  "request.headers['x-a'] == '1'",
  "request.path.endsWith('/messages')",
  "request.path != '/v1/chat/completions'",
  "request.method == 'POST'",
]

/** Never reached here. */
function limit(random: Random): Tree {
  const amount = 1_000_000 * (1 + random.int(3))
  return random.pick<Tree>([
    { budgets: [{ requests: amount, per: 'Hour' }] },
    { budgets: [{ tokens: amount, per: 'Day' }] },
    { localRateLimit: { requests: amount, unit: 'Seconds' } },
    { localRateLimit: { tokens: amount, unit: 'Hours' } },
  ])
}

function provider(random: Random, index: number, host: string): Tree {
  const rules = Array.from({ length: random.int(3) }, () => rule(random, condition(random)))
  return {
    name: `p${index}`,
    provider: { [random.pick(KINDS)]: random.chance(0.7) ? {} : { model: random.pick(MODELS) } },
    hostOverride: host,
    ...(rules.length === 0 ? {} : { policies: { authorization: { rules } } }),
  }
}

function byName(random: Random, host: (index: number) => string): Tree {
  const names = random.some([...MODELS, ...PATTERNS], 1 + random.int(4))
  const models = names.map((name, index) => model(random, name, host(index)))
  const exact = names.filter((name) => !name.includes('*'))
  const [first, second = first] = exact
  const policies = onRoute(random)
  return {
    models,
    ...(first !== undefined && random.chance(0.3)
      ? { virtualModels: [virtual(random, first, second as string)] }
      : {}),
    ...(Object.keys(policies).length === 0 ? {} : { policies }),
  }
}

function model(random: Random, name: string, host: string): Tree {
  const rules = Array.from({ length: random.int(3) }, () => rule(random, condition(random)))
  const sent = random.chance(0.25) ? { model: random.pick(MODELS) } : {}
  return {
    name,
    provider: random.pick(KINDS),
    params: { apiKey: 'x', hostOverride: host, ...sent },
    ...(rules.length === 0 ? {} : { authorization: { rules } }),
    ...(random.chance(0.08)
      ? { matches: [{ headers: [{ name: 'x-a', value: { exact: random.pick(['1', '2']) } }] }] }
      : {}),
  }
}

function virtual(random: Random, first: string, second: string): Tree {
  const name = random.pick(['best', 'gpt-4', 'a', 'best'].filter((one) => one !== first))
  const targets = [...new Set([first, second])]
  const routing = random.pick<Tree>([
    { failover: { targets: targets.map((own, priority) => ({ model: own, priority })) } },
    {
      conditional: {
        targets: targets.map((own, index) =>
          index === 0 ? { model: own, when: "request.headers['x-a'] == '1'" } : { model: own },
        ),
      },
    },
    { weighted: { targets: [{ model: first, weight: 1 }] } },
  ])
  return { name, routing }
}

function rule(random: Random, text: string): Tree {
  return { [random.pick(['allow', 'allow', 'require', 'deny', 'deny'])]: text }
}

function atom(random: Random): string {
  const one = quote(random.pick(MODELS))
  return random.pick([
    () => `llm.requestModel == ${one}`,
    () => `llm.requestModel == ${one}`,
    () => `llm.requestModel != ${one}`,
    () => `llm.requestModel in [${random.some(MODELS, 2).map(quote).join(', ')}]`,
    () => `llm.requestModel.startsWith(${quote(random.pick(['gpt-', 'o1', 'a']))})`,
    () => `llm.params.max_tokens ${random.pick(['<', '>', '<='])} ${random.pick(['10', '100'])}`,
    () => 'has(llm.requestModel)',
    () => 'llm.streaming',
    () => '!has(llm.tools)',
    () => `llm.provider == ${quote(random.pick(['p0', 'p1', 'a', 'b']))}`,
    () => `backend.provider != ${quote(random.pick(['p0', 'p1', 'a']))}`,
    () => "request.headers['x-a'] == '1'",
    () => "request.path.endsWith('/messages')",
  ])()
}

export function condition(random: Random): string {
  const roll = random.next()
  if (roll < 0.6) return atom(random)
  if (roll < 0.7) return `!(${atom(random)})`
  return `${atom(random)} ${random.pick(['&&', '||'])} ${atom(random)}`
}

type Edit = (random: Random, tree: Tree) => Tree | undefined

function edit(
  wanted: (path: readonly (string | number)[], value: Json) => boolean,
  change: (random: Random, value: Json) => Json | undefined,
): Edit {
  return (random, tree) => {
    const places = [...walk(tree)].filter(([path, value]) => wanted(path, value))
    if (places.length === 0) return undefined
    const [path, value] = random.pick(places)
    return withValue(tree, path, change(random, value))
  }
}

const isListed = (path: readonly (string | number)[], list: string) =>
  path.at(-2) === list && typeof path.at(-1) === 'number'

/** What users change about models. */
export const MODEL_EDITS: readonly Edit[] = [
  // Rules of a provider or a model.
  ...Array.from({ length: 4 }, () =>
    edit(
      (path, value) => path.at(-1) === 'rules' && Array.isArray(value),
      (random, value) => {
        const rules = value as readonly Json[]
        const isOfRequests = TRAFFIC.some((text) => JSON.stringify(rules).includes(text))
        const more = rule(random, isOfRequests ? random.pick(TRAFFIC) : condition(random))
        const at = random.int(rules.length)
        if (random.chance(0.4)) return [...rules, more]
        return random.chance(0.5) ? rules.with(at, more) : rules.toReversed()
      },
    ),
  ),
  edit(
    (path, value) =>
      (isListed(path, 'providers') || (isListed(path, 'models') && isTree(value))) &&
      !JSON.stringify(value).includes('"rules"'),
    (random, value) => {
      const authorization = { rules: [rule(random, condition(random))] }
      const isModel = 'params' in (value as Tree)
      return {
        ...(value as Tree),
        ...(isModel ? { authorization } : { policies: { authorization } }),
      }
    },
  ),
  edit(
    (path, value) => isListed(path, 'providers') && isTree(value),
    (random, value) => ({
      ...(value as Tree),
      provider: { [random.pick(KINDS)]: random.chance(0.5) ? {} : { model: random.pick(MODELS) } },
    }),
  ),
  edit(
    (path, value) => isTree(value) && path.at(-2) === 'provider',
    (random) => (random.chance(0.3) ? {} : { model: random.pick(MODELS) }),
  ),
  edit(
    (path) => path.at(-1) === 'params',
    (random, value) => ({ ...(value as Tree), model: random.pick(MODELS) }),
  ),
  edit(
    (path) => isListed(path, 'providers') && path.at(-1) !== 0,
    () => undefined,
  ),
  edit(
    (path) => path.at(-1) === 'providers',
    (random, value) => {
      const all = value as readonly Tree[]
      const name = all.some((one) => one['name'] === 'p2') ? 'p3' : 'p2'
      const { policies: _, ...first } = all[0] as Tree
      const more = { ...first, name, provider: { [random.pick(KINDS)]: {} } }
      return all.length > 2 ? undefined : [...all, more]
    },
  ),
  // Models by name.
  edit(
    (path) => path.join('.') === 'llm.models',
    (random, value) => {
      const all = value as readonly Tree[]
      const names = all.map((one) => one['name'] as string)
      const [name] = random.some(
        [...MODELS, ...PATTERNS].filter((one) => !names.includes(one)),
        1,
      )
      const { authorization: _, ...first } = all[0] as Tree
      const isAdded = name !== undefined && (all.length < 2 || random.chance(0.5))
      return isAdded ? [...all, { ...first, name }] : all.slice(0, -1)
    },
  ),
  edit(
    (path) => path.at(-1) === 'virtualModels',
    (random, value) =>
      random.chance(0.4)
        ? undefined
        : (value as readonly Tree[]).map((one) => ({ ...one, name: random.pick(['best', 'b2']) })),
  ),
  // Limits.
  edit(
    (path, value) =>
      path.at(-1) === 'budgets' || (path.at(-1) === 'localRateLimit' && isTree(value)),
    () => undefined,
  ),
  (random, tree) => {
    const isByName = isTree(tree['llm'])
    const path = isByName ? ['llm', 'policies'] : ['routes', 0, 'policies']
    const own = isByName
      ? (tree['llm'] as Tree)['policies']
      : (tree['routes'] as Tree[])[0]?.['policies']
    return withValue(tree, path, { ...((own ?? {}) as Tree), ...limit(random) })
  },
  (random, tree) => {
    const isByName = isTree(tree['llm'])
    const path = isByName ? ['llm', 'policies'] : ['routes', 0, 'policies']
    const own = isByName
      ? (tree['llm'] as Tree)['policies']
      : (tree['routes'] as Tree[])[0]?.['policies']
    const authorization = { rules: [rule(random, random.pick(TRAFFIC))] }
    return withValue(tree, path, { ...((own ?? {}) as Tree), authorization })
  },
]

export function changedModels(random: Random, tree: Tree): Tree {
  let now = tree
  const count = random.chance(0.6) ? 1 : 2
  for (let done = 0, tries = 0; done < count && tries < 40; tries++) {
    const next = random.pick(MODEL_EDITS)(random, now)
    if (next === undefined || JSON.stringify(next) === JSON.stringify(now)) continue
    now = next
    done++
  }
  return now
}

/** A request to a backend of models: mostly a call, in one of the APIs. */
export function modelRequest(random: Random): {
  readonly method: string
  readonly target: string
  readonly headers: [string, string][]
  readonly body?: string
} {
  const model = random.pick([...MODELS, 'best', 'b2', 'zzz', 'gpt-', 'x-mini'])
  const header: [string, string][] = random.chance(0.5) ? [['x-a', random.pick(['1', '2'])]] : []
  const more: Tree = {
    ...(random.chance(0.4) ? { max_tokens: random.pick([5, 10, 50, 100, 500]) } : {}),
    ...(random.chance(0.15) ? { stream: random.chance(0.6) } : {}),
    ...(random.chance(0.1) ? { tools: [] } : {}),
    ...(random.chance(0.05) ? { model: 7 } : {}),
  }
  const messages = [{ role: 'user', content: 'x' }]
  const [method, path, body] = random.pick<readonly [string, string, Json?]>([
    ...Array.from(
      { length: 4 },
      () => ['POST', '/v1/chat/completions', { model, messages, ...more }] as const,
    ),
    ...Array.from(
      { length: 2 },
      () => ['POST', '/v1/messages', { model, max_tokens: 9, messages, ...more }] as const,
    ),
    ['POST', '/v1/responses', { model, input: 'x' }],
    ['POST', '/v1/embeddings', { model, input: 'x' }],
    ['POST', '/v1/messages/count_tokens', { model, messages }],
    ['POST', `/v1beta/models/${model}:generateContent`, { contents: [{ parts: [{ text: 'x' }] }] }],
    ['POST', '/v1/moderations', { model, input: 'x' }],
    ['POST', '/x/v1/chat/completions', { model, messages }],
    ['POST', '/v1/chat/completions', 'no object'],
    ['GET', '/v1/models'],
    ['GET', '/v1/responses/resp_1'],
    ['GET', '/'],
    ['POST', '/v1/files', { x: 1 }],
    ['GET', '/v1/files/f'],
    ['POST', '/v1/batches', { model }],
  ])
  if (body === undefined) return { method, target: path, headers: header }
  const headers = [...header, ['content-type', 'application/json'] as [string, string]]
  return { method, target: path, headers, body: JSON.stringify(body) }
}
