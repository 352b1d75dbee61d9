import type { Decision } from '../exchange/decision.ts'
import type { Exchange } from '../exchange/exchange.ts'
import type { ChangedTool, PinFinding } from '../protocols/mcp/pins.ts'

/** Max number of tools that a record names; the others are only counted. */
const MAX_NAMED = 10

/** Adds a decision to the exchange for its record: tools differ from the pinned ones. */
export function reportUnpinned(exchange: Exchange, finding: PinFinding): void {
  exchange.decisions = [...exchange.decisions, pinDecision(finding)]
}

export function pinDecision({ target, isEnforced, isCall, tools }: PinFinding): Decision {
  const [first] = tools
  return {
    stage: 'mcp',
    isAllowed: false,
    isEnforced,
    cause: 'pin',
    rule: undefined,
    failure: { reason: reasonOf(target, tools), variable: undefined, present: [] },
    nearest: undefined,
    search: undefined,
    audited: undefined,
    invalid: undefined,
    provider: undefined,
    // A list continues without them.
    isSkipped: !isCall,
    attributes: [
      attribute('mcp.tool.target', target),
      ...(isCall && first !== undefined ? [attribute('mcp.tool.name', first.name)] : []),
    ],
  }
}

const attribute = (name: string, value: string) => ({ name, value, missing: '', within: undefined })

function reasonOf(target: string, tools: readonly ChangedTool[]): string {
  const named = tools.slice(0, MAX_NAMED).map((tool) => `\`${tool.name}\` ${stateOf(tool)}`)
  const left = tools.length - named.length
  const others = left === 0 ? [] : [`${left} more`]
  return `tools of \`${target}\` differ from their pins: ${[...named, ...others].join('; ')}`
}

function stateOf({ changes }: ChangedTool): string {
  if (changes.includes('new')) return 'is not pinned'
  if (changes.includes('unknown')) return 'is not listed by its server'
  if (changes.includes('ambiguous')) return 'has a duplicate member'
  const parts = [...new Set(changes)]
  return `has a different ${parts.join(', ')}`
}
