import { isObject } from '../message.ts'
import { isJsonType } from './operations.ts'

/** Converts the response of an API to the result of a tool. */
export function resultOf(status: number, type: string, body: Buffer): object {
  const isError = status < 200 || status > 299
  const [essence = ''] = type.split(';')
  const kind = essence.trim().toLowerCase()
  const wrong = isError ? { isError } : {}
  const [, media] = /^(image|audio)\//.exec(kind) ?? []
  if (!isError && media !== undefined) {
    return { content: [{ type: media, data: body.toString('base64'), mimeType: kind }] }
  }
  const text = textOf(body)
  if (text === undefined) {
    const resource = { uri: 'response:', mimeType: kind, blob: body.toString('base64') }
    return { content: [{ type: 'resource', resource }], ...wrong }
  }
  const said = isError ? `HTTP ${status}${text === '' ? '' : `\n${text}`}` : text
  const value = !isError && isJsonType(type) ? jsonOf(text) : undefined
  return {
    content: [{ type: 'text', text: said }],
    ...(isObject(value) ? { structuredContent: value } : {}),
    ...wrong,
  }
}

function textOf(body: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch {
    return undefined
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
