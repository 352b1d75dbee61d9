/** `mcp` in expressions. Unknown attributes are omitted, and no rule evaluates them as true. */
export interface McpMessage {
  readonly methodName: string
  readonly sessionId?: string
  readonly tool?: McpPart & { readonly arguments?: Readonly<Record<string, unknown>> }
  readonly prompt?: McpPart
  readonly resource?: McpPart
}

/** A tool, prompt or resource of a server, by its name on that server. */
export interface McpPart {
  readonly target: string
  readonly name: string
}
