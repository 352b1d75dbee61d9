/** What came of a request of MCP. */
export type McpOutcome =
  | 'success'
  | 'tool-error'
  | 'error'
  | 'denied'
  | 'unknown'
  | 'timeout'
  | 'unreachable'
  | 'cancelled'

/** Items that were left out of a list. */
export interface HiddenItems {
  readonly target: string
  readonly kind: 'tool' | 'prompt' | 'resource' | 'resource-template'
  readonly reason: 'authorization' | 'pin'
  count: number
}

/** What is counted and logged of one message of MCP. */
export class McpRecord {
  /** Empty: it is no request. */
  method = ''
  /** The one server that it is for. */
  target = 'none'
  /** The tool of a call, by its name on its server. */
  tool = 'none'
  /** Its server is known to list the tool. */
  isListed = false
  transport: 'streamable-http' | 'sse' = 'streamable-http'
  session: 'opened' | 'refused' | undefined = undefined
  /** Undefined until it is known. */
  outcome: McpOutcome | undefined = undefined
  readonly hidden: HiddenItems[] = []
  /** Of each message of a batch; this one is of none then. */
  batch: readonly McpRecord[] = []

  hide({ target, kind, reason }: Omit<HiddenItems, 'count'>): void {
    const known = this.hidden.find(
      (own) => own.target === target && own.kind === kind && own.reason === reason,
    )
    if (known === undefined) this.hidden.push({ target, kind, reason, count: 1 })
    else known.count++
  }
}
