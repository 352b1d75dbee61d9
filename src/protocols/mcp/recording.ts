import type { Header } from '../../exchange/header-edit.ts'
import type { McpOutcome, McpRecord } from '../../exchange/mcp-record.ts'
import type { Reply } from '../../exchange/reply.ts'
import { CODES } from './errors.ts'
import type { McpResponder } from './serving.ts'

/** Records the outcome of a message from what is sent to the client. */
export function recording(record: McpRecord, responder: McpResponder): McpResponder {
  return {
    reply(reply) {
      record.outcome ??= outcomeOf(reply)
      opened(record, reply.headers.added)
      responder.reply(reply)
    },
    open(headers) {
      opened(record, headers)
      responder.open(headers)
    },
    write(text) {
      // A cheap check separates most messages from those that may be errors.
      if (text.includes('rror"')) record.outcome ??= outcomeInEvents(text)
      return responder.write(text)
    },
    end() {
      record.outcome ??= 'success'
      responder.end()
    },
    abort(reason) {
      record.outcome ??= 'error'
      responder.abort(reason)
    },
    broke: (error) => responder.broke(error),
  }
}

function opened(record: McpRecord, headers: readonly Header[]): void {
  if (headers.some(([name]) => name === 'mcp-session-id')) record.session = 'opened'
}

function outcomeOf({ status, body }: Reply): McpOutcome {
  if (status === 504) return 'timeout'
  if (status === 503) return 'unreachable'
  if (status === 401 || status === 403) return 'denied'
  if (status >= 400) return 'error'
  const text = typeof body === 'string' ? body : ''
  return (text.includes('rror"') ? outcomeIn(text) : undefined) ?? 'success'
}

function outcomeInEvents(text: string): McpOutcome | undefined {
  const data = text.split('\n').flatMap((line) => (line.startsWith('data: ') ? line.slice(6) : []))
  return outcomeIn(data.join('\n'))
}

/** Returns the outcome of a message that is, or may be, a response. */
function outcomeIn(text: string): McpOutcome | undefined {
  try {
    const { error, result } = JSON.parse(text) as Response
    if (error !== undefined && error !== null) {
      const isUnknown = error.code === CODES.invalidParams && /^Unknown /.test(error.message ?? '')
      return isUnknown || error.code === CODES.resourceNotFound ? 'unknown' : 'error'
    }
    return result?.isError === true ? 'tool-error' : undefined
  } catch {
    return undefined
  }
}

interface Response {
  readonly error?: { readonly code?: number; readonly message?: string } | null
  readonly result?: { readonly isError?: unknown }
}
