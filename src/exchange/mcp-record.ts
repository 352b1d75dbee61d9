/** The outcome of an MCP request. */
export type McpOutcome =
  | 'success'
  | 'tool-error'
  | 'error'
  | 'denied'
  | 'unknown'
  | 'timeout'
  | 'unreachable'
  | 'cancelled'

/** Items that were removed from a list. */
export interface HiddenItems {
  readonly target: string
  readonly kind: 'tool' | 'prompt' | 'resource' | 'resource-template'
  readonly reason: 'authorization' | 'pin'
  count: number
}

/** What is counted and logged for one MCP message. */
export class McpRecord {
  /** Empty if the message is not a request. */
  method = ''
  /** The server that receives it. */
  target = 'none'
  /** The tool that is called, by its name on its server. */
  tool = 'none'
  /** The server is known to list the tool. */
  isListed = false
  transport: 'streamable-http' | 'sse' = 'streamable-http'
  session: 'opened' | 'refused' | undefined = undefined
  /** Undefined until known. */
  outcome: McpOutcome | undefined = undefined
  readonly hidden: HiddenItems[] = []
  /** The records of a batch, one per message; this record is then not about any of them. */
  batch: readonly McpRecord[] = []

  hide({ target, kind, reason }: Omit<HiddenItems, 'count'>): void {
    const known = this.hidden.find(
      (own) => own.target === target && own.kind === kind && own.reason === reason,
    )
    if (known === undefined) this.hidden.push({ target, kind, reason, count: 1 })
    else known.count++
  }
}
