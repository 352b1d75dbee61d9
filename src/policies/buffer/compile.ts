import type { WholePart } from '../../exchange/body-part.ts'
import type { Attachments, Part } from '../define.ts'
import type { BufferLimits } from './schema.ts'

export function compileBuffer([{ value }]: Attachments<BufferLimits>): Part {
  const { request, response } = value
  return {
    ...(request === undefined ? {} : { requestBody: whole(request) }),
    ...(response === undefined ? {} : { responseBody: whole(response) }),
  }
}

function whole({ maxBytes, failureMode }: NonNullable<BufferLimits['request']>): WholePart {
  const whenLonger = failureMode === 'FailClosed' ? 'reject' : 'pass'
  return { mode: 'whole', maxBytes, whenLonger }
}
