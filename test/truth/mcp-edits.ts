import { isTree, type Json, type Tree, walk, withValue } from './document.ts'
import {
  condition,
  messageRules,
  NAMES,
  PREFIX_MODES,
  pinned,
  rule,
  TRAFFIC,
} from './mcp-documents.ts'
import type { Random } from './random.ts'

type Edit = (random: Random, tree: Tree) => Tree | undefined
type Path = readonly (string | number)[]

function edit(
  isMeant: (path: Path, value: Json) => boolean,
  change: (random: Random, value: Json) => Json | undefined,
): Edit {
  return (random, tree) => {
    const places = [...walk(tree)].filter(([path, value]) => isMeant(path, value))
    if (places.length === 0) return undefined
    const [path, value] = random.pick(places)
    return withValue(tree, path, change(random, value))
  }
}

const isRuleList = (path: Path, value: Json) =>
  path.at(-1) === 'rules' && path.at(-2) === 'mcpAuthorization' && Array.isArray(value)
const isMessageRule = (path: Path, value: Json) =>
  typeof value === 'string' && path.at(-3) === 'rules' && path.includes('mcpAuthorization')
const isTarget = (path: Path, value: Json) => path.at(-2) === 'targets' && isTree(value)

/** What users change about tools; the first ones are frequent. */
const RULE_EDITS: readonly Edit[] = [
  edit(isRuleList, (random, value) => [
    ...(value as readonly Json[]),
    rule(random, condition(random)),
  ]),
  edit(isRuleList, (_, value) => (value as readonly Json[]).toReversed()),
  edit(isRuleList, (random, value) => {
    const rules = value as readonly Json[]
    return rules.length < 2 ? value : rules.toSpliced(random.int(rules.length), 1)
  }),
  edit(isRuleList, (random, value) => {
    const rules = value as readonly Json[]
    return rules.with(random.int(rules.length), rule(random, condition(random)))
  }),
  edit(isMessageRule, (random, value) => {
    const name = random.pick(NAMES)
    return (value as string).replace(/== '(\w+)'/, (text, own: string) =>
      NAMES.includes(own) ? `== '${name}'` : text,
    )
  }),
  edit(isMessageRule, (_, value) =>
    (value as string).replace(/(mcp\.\w+\.name) == ('\w+')/, '$1 in [$2]'),
  ),
  edit(isMessageRule, (random, value) => `${value} || ${condition(random)}`),
  edit(isMessageRule, (random, value) => `(${value}) && (${condition(random)})`),
  edit(
    (path, value) => path.at(-1) === 'mcpAuthorization' && isTree(value),
    (random) => (random.chance(0.4) ? undefined : messageRules(random)),
  ),
  edit(
    (path, value) => path.at(-1) === 'mcpAuthorization' && isTree(value),
    (_, value) => {
      const { mode, ...rest } = value as Tree
      return mode === undefined ? { ...rest, mode: 'Audit' } : rest
    },
  ),
  // Rules of a server replace those of its backend.
  edit(
    (path, value) => isTarget(path, value) && (value as Tree)['policies'] === undefined,
    (random, value) => ({
      ...(value as Tree),
      policies: { mcpAuthorization: messageRules(random) },
    }),
  ),
  (random, tree) => {
    const policies = ((tree['routes'] as Tree[])[0] as Tree)['policies'] as Tree | undefined
    const more = random.chance(0.7)
      ? { mcpAuthorization: messageRules(random) }
      : { authorization: { rules: [rule(random, random.pick(TRAFFIC))] } }
    return withValue(tree, ['routes', 0, 'policies'], { ...policies, ...more })
  },
]

const SERVER_EDITS: readonly Edit[] = [
  edit(
    (path) => path.at(-1) === 'pins',
    (random) => (random.chance(0.4) ? undefined : pinned(random)),
  ),
  edit(
    (path, value) => isTarget(path, value) && (value as Tree)['pins'] === undefined,
    (random, value) => ({ ...(value as Tree), pins: pinned(random) }),
  ),
  edit(
    (path, value) => path.at(-1) === 'mcp' && Array.isArray((value as Tree)['targets']),
    (random, value) => ({ ...(value as Tree), prefixMode: random.pick(PREFIX_MODES) }),
  ),
  edit(
    (path, value) => path.at(-1) === 'targets' && (value as readonly Json[]).length > 1,
    (_, value) => (value as readonly Json[]).slice(0, -1),
  ),
  edit(
    (path) => path.at(-1) === 'matches',
    () => undefined,
  ),
]

/** Most changes of a file are about rules. */
const RULES_SHARE = 0.9

export function changedTools(random: Random, tree: Tree): Tree {
  const edits = random.chance(RULES_SHARE) ? RULE_EDITS : SERVER_EDITS
  const count = random.chance(0.7) ? 1 : 2
  let now = tree
  for (let done = 0, tries = 0; done < count && tries < 40; tries++) {
    const next = random.pick(edits)(random, now)
    if (next === undefined || JSON.stringify(next) === JSON.stringify(now)) continue
    now = next
    done++
  }
  return now
}
