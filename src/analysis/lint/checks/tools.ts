import type { Attached } from '../../../model/policy.ts'
import { decidesAt } from '../../../reach/points.ts'
import { isText, MCP_PARTS, serversAt, toolsOf } from '../../mcp-facts.ts'
import type { PlacedRule } from '../../placed-rule.ts'
import { Reasoning } from '../../reasoning.ts'
import type { Fact } from '../../symbolic/attribute-tree.ts'
import { nameOf } from '../../symbolic/attribute-tree.ts'
import { attributeOf } from '../../symbolic/leaves.ts'
import type { Check } from '../check.ts'
import { aboutRule } from '../finding.ts'
import { listed } from '../place.ts'
import type { RuleUse, SurveyedPoint } from '../survey.ts'
import { signedLeaves } from '../terms.ts'
import { comparisonOf } from './impossible.ts'

/** Max number of names listed in a hint. */
const MAX_LISTED = 8

/** AZ030: a rule names a server or a tool that does not exist. */
export const unknownTools: Check = function* ({ rules }) {
  for (const use of mcpRules(rules)) {
    for (const { term } of signedLeaves(use.placed.condition.term)) {
      const [subject, texts = []] = comparisonOf(term) ?? []
      if (subject === undefined || term.kind === 'call') continue
      const attribute = nameOf(attributeOf(subject)?.steps ?? [])
      const unknown = texts.filter((text) =>
        use.at.every((at) => namesFor(attribute, at)?.includes(text) === false),
      )
      const [first] = unknown
      if (first === undefined) continue
      const [seen] = use.at
      const all = (seen && namesFor(attribute, seen)) ?? []
      const what = attribute === TOOL_NAME ? 'tool' : 'MCP server'
      const available = all.length === 0 ? 'none' : listed(all, MAX_LISTED)
      const effect = isNeverTrue(use, attribute) ? ': this rule never matches' : ''
      const said = {
        code: 'AZ030',
        severity: effect === '' ? 'warning' : 'error',
        message: `unknown ${what} \`${first}\`${effect}`,
        hint: `available: ${available}`,
      } as const
      yield { diagnostic: aboutRule(said, use.placed, term) }
      break
    }
  }
}

const TOOL_NAME = 'mcp.tool.name'
const TARGETS: ReadonlySet<string> = new Set(MCP_PARTS.map((part) => `mcp.${part}.target`))

/** All values that the attribute can have at the point; undefined if unknown. */
function namesFor(attribute: string, { point }: SurveyedPoint): readonly string[] | undefined {
  const servers = serversAt(point.where)
  if (TARGETS.has(attribute)) return servers.map(({ name }) => name)
  return attribute === TOOL_NAME ? toolsOf(servers) : undefined
}

function isNeverTrue({ at }: RuleUse, attribute: string): boolean {
  return at.every((seen) => {
    const values = namesFor(attribute, seen) ?? []
    const fact: Fact =
      values.length === 0 ? { kind: 'unset' } : { kind: 'values', values, isSet: false }
    return !mayMatch(seen, seen.placed, [[attribute, fact]])
  })
}

/** AZ031: arguments are known only for calls. */
export const argumentsOfLists: Check = function* ({ rules }) {
  for (const use of mcpRules(rules)) {
    const { placed, at } = use
    const read = placed.reads.find(({ path }) => path.startsWith('mcp.tool.arguments'))
    if (read === undefined || at.some((seen) => mayMatch(seen, placed, CALL))) continue
    // Rules that are never true are reported elsewhere.
    if (!at.some((seen) => mayMatch(seen, placed, []))) continue
    const said = {
      code: 'AZ031',
      severity: 'error',
      message: `\`${read.path}\` is known only for \`tools/call\`, and no call can satisfy this rule`,
      hint: 'remove `mcp.methodName`: lists are filtered by the calls that could be allowed',
    } as const
    const start = placed.rule.expression.indexOf('mcp.tool.arguments')
    const end = start + 'mcp.tool.arguments'.length
    yield { diagnostic: aboutRule(said, placed, start < 0 ? undefined : { start, end }) }
  }
}

/** AZ032: tools that can be called but are not listed. */
export const unlistedTools: Check = function* ({ rules, points }) {
  const hiding = new Set(
    points
      .filter(({ point: { stage, rules: own } }) => {
        const allows = stage === 'mcp' ? own.filter(isAllow) : []
        return allows.some((allow) => allow.reads.some(({ path }) => path === METHOD))
      })
      .map(({ point }) => point),
  )
  for (const { placed, at } of mcpRules(rules)) {
    if (at.length === 0) continue
    if (isRequire(placed)) {
      const isHiding = at.every(
        (seen) => mayMatch(seen, placed, CALL) && !mayMatch(seen, placed, LIST),
      )
      if (isHiding) yield { diagnostic: aboutRule(HIDES, placed) }
      continue
    }
    if (!isAllow(placed)) continue
    const isUnlisted = at.every((seen) => {
      if (!hiding.has(seen.point) || !seen.isWhole) return false
      const isListed = seen.point.rules.some((own) => isAllow(own) && mayMatch(seen, own, LIST))
      return !isListed && mayMatch(seen, placed, CALL)
    })
    if (!isUnlisted) continue
    const said = {
      code: 'AZ032',
      severity: 'warning',
      message: 'this rule allows calls to tools that are not listed',
      hint: 'remove `mcp.methodName`, which is `tools/list` while a list is filtered',
    } as const
    yield { diagnostic: aboutRule(said, placed) }
  }
}

const HIDES = {
  code: 'AZ032',
  severity: 'warning',
  message: 'this rule hides the tools from lists whose calls it allows',
  hint: "restrict calls alone: `mcp.methodName != 'tools/call' || …`",
} as const

/** AZ033: one server has rules, and the others are open to anyone. */
export const unguardedServers: Check = function* ({ model, points }) {
  const guarded = new Set(
    points
      .filter(({ point: { stage, where, rules } }) => {
        return stage === 'mcp' && where.server === undefined && rules.some((one) => one.isEnforced)
      })
      .map(({ point }) => point.where.backend?.name),
  )
  for (const backend of model.backends) {
    if (backend.kind !== 'mcp' || guarded.has(backend.name)) continue
    const isGuarded = ({ policies }: (typeof backend.targets)[number]) =>
      policies.some((policy) => decidesAt(policy, 'mcp'))
    const others = backend.targets.filter(isGuarded)
    if (others.length === 0) continue
    for (const server of backend.targets) {
      if (isGuarded(server)) continue
      yield {
        diagnostic: {
          code: 'AZ033',
          severity: 'warning',
          message: `anyone can use \`${server.name}\`, while ${listed(others.map(({ name }) => name))} of the same backend has rules`,
          hint: 'set the rules on the backend, where they apply to all its servers',
          origin: server.origin,
        },
      }
    }
  }
}

/** AZ034: a server receives the token that a client sent to the gateway. */
export const forwardedTokens: Check = function* ({ model }) {
  for (const backend of model.backends) {
    if (backend.kind !== 'mcp') continue
    for (const server of backend.targets) {
      const auth = [...server.policies, ...backend.policies].find(isBackendAuth)
      if (auth === undefined || !isPassthrough(auth)) continue
      yield {
        diagnostic: {
          code: 'AZ034',
          severity: 'warning',
          message: `\`${server.name}\` gets the tokens that clients send to the gateway`,
          hint: 'use `oauthTokenExchange`, `oauthUserToken` or a key of the gateway',
          origin: auth.origin,
        },
      }
    }
  }
}

function isBackendAuth({ kind }: Attached): boolean {
  return kind === 'backendAuth'
}

function isPassthrough(policy: Attached): boolean {
  const { kind } = ('value' in policy ? policy.value : {}) as { readonly kind?: string }
  return kind === 'passthrough'
}

const METHOD = 'mcp.methodName'
const CALL: readonly (readonly [string, Fact])[] = [[METHOD, isText('tools/call')]]
const LIST: readonly (readonly [string, Fact])[] = [[METHOD, isText('tools/list')]]

function mcpRules(rules: readonly RuleUse[]): readonly RuleUse[] {
  return rules.filter(({ placed }) => placed.stage === 'mcp')
}

function isAllow({ rule, isEnforced }: PlacedRule): boolean {
  return rule.action === 'Allow' && isEnforced
}

function isRequire({ rule, isEnforced }: PlacedRule): boolean {
  return rule.action === 'Require' && isEnforced
}

/** False if it is proven that no message with these attributes satisfies the rule. */
function mayMatch(
  { point }: SurveyedPoint,
  placed: PlacedRule,
  more: readonly (readonly [string, Fact])[],
): boolean {
  const facts = new Map([...point.facts, ...more])
  const reasoning = new Reasoning({ stage: point.stage, rules: [placed], facts })
  return !reasoning.isImpossible(reasoning.matches(placed))
}
