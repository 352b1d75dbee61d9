/** `mcp` in expressions. What is not known of a message is left out, and no rule reads it as true. */
export interface McpMessage {
  readonly methodName: string
  readonly sessionId?: string
  readonly tool?: McpPart & { readonly arguments?: Readonly<Record<string, unknown>> }
  readonly prompt?: McpPart
  readonly resource?: McpPart
}

/** Something that a server offers, by its name on that server. */
export interface McpPart {
  readonly target: string
  readonly name: string
}
