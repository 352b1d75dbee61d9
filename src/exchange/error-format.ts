import type { RequestAttributes } from './attributes.ts'
import type { Header } from './header-edit.ts'
import type { Reply } from './reply.ts'

/** An error of the gateway, in the format of the client's protocol. */
export interface FormattedError {
  readonly body: Uint8Array
  readonly contentType: string
  /** Headers that clients of this protocol act on. */
  readonly headers: readonly Header[]
}

export type ErrorFormat = (request: RequestAttributes, reply: Reply) => FormattedError
