import type { Decider } from '../exchange/decision.ts'
import type { Exchange } from '../exchange/exchange.ts'
import { reply } from '../exchange/reply.ts'
import type { Step } from '../exchange/step.ts'
import type { McpBackend } from '../model/backend.ts'
import { compileMcpAuthorization } from '../policies/mcp-authorization/compile.ts'
import { effectiveAt } from '../reach/effective.ts'
import type { Layer } from '../reach/layers.ts'
import { decidesAt, holdsForRequests, rulesAt } from '../reach/points.ts'
import type { Compilation } from './compilation.ts'
import { faultOf, invalidDecider } from './invalid.ts'
import { linkSteps } from './link.ts'
import type { McpPart } from './mcp-message.ts'
import { Permit } from './permit.ts'
import type { BackendProgram, McpProgram } from './program.ts'

const NOT_SERVED = { ...reply(500, 'unsupported-backend'), detail: 'MCP is not served' }
const notServed: Step = () => NOT_SERVED

/** Rules run; what they let pass is answered with 500, since nothing here speaks MCP yet. */
export function compileMcp(
  compilation: Compilation,
  backend: McpBackend,
  around: readonly Layer[],
): BackendProgram {
  const { reach, sections } = compilation
  const { name } = backend
  const section = sections.compile(around, 'backend', (one) => holdsForRequests(one, backend))
  const steps = [...section.steps, notServed]
  const targets = new Map(
    backend.targets.map((server) => {
      const own = reach.within(around, { backend, server })
      return [server.name, deciderAt(compilation, own)]
    }),
  )
  return {
    name,
    steps,
    run: linkSteps(steps),
    readsBody: section.readsBody,
    readsBeginning: section.readsBeginning,
    decodesBody: section.decodesBody,
    requestTimeout: 0,
    decider: section.decider,
    responseParts: section.responseParts,
    upstream: { kind: 'mcp', mcp: mcpProgram(deciderAt(compilation, around), targets) },
  }
}

function mcpProgram(
  decider: Decider | undefined,
  targets: ReadonlyMap<string, Decider | undefined>,
): McpProgram {
  return {
    decide(exchange, message) {
      const { target } = message.tool ?? message.prompt ?? message.resource ?? NO_PART
      const rules = target === undefined || !targets.has(target) ? decider : targets.get(target)
      exchange.mcp = message as unknown as Exchange['mcp']
      const verdict = Permit.message(rules, exchange)
      // Kept with the exchange for its record, too.
      if (verdict.decision !== undefined) {
        exchange.decisions = [...exchange.decisions, verdict.decision]
      }
      return verdict
    },
  }
}

const NO_PART: Partial<McpPart> = {}

/** Undefined where no rule is about MCP. */
function deciderAt({ contexts }: Compilation, layers: readonly Layer[]): Decider | undefined {
  const { byKind, invalid } = effectiveAt(layers, 'backend')
  const broken = invalid.find((policy) => decidesAt(policy, 'mcp'))
  if (broken !== undefined) return invalidDecider(faultOf(broken))
  const policies = rulesAt(byKind, 'mcp')
  if (policies === undefined) return undefined
  const context = contexts.open(contexts.scopesAt(layers, 'backend'))
  const decider = compileMcpAuthorization(policies, context)
  const { failed } = context.findings
  return failed === undefined ? decider : invalidDecider(failed)
}
