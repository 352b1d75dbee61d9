import { randomUUID } from 'node:crypto'
import { exactJson } from '../../cel/values/json-exact.ts'
import { HeaderEdit } from '../../exchange/header-edit.ts'
import type { Reply } from '../../exchange/reply.ts'
import { CODES, errorReply, jsonReply } from './errors.ts'
import { claimedVersion } from './header-check.ts'
import { type ClientMessage, isObject } from './message.ts'
import { isModern } from './revisions.ts'
import type { ClientSession } from './session.ts'

/*
 * For a server that requires the user's consent: the client receives the link, in the form that it
 * supports. Revision 2025-11-25 has an error for it, 2026-07-28 a result that requests input;
 * clients that support neither receive 401.
 */

/** How a client receives the link to the page; undefined for 401 only. */
export type ConsentForm = 'error' | 'input' | undefined

const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities'
/** Methods whose results may request input. */
const INPUT_METHODS: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read'])
/** The gateway's input request, among those of the server. */
const CONSENT = 'portcullis-consent'

export function consentForm(
  message: ClientMessage,
  session: ClientSession | undefined,
): ConsentForm {
  if (message.kind !== 'request') return undefined
  const { method, params } = message
  if (isModern(claimedVersion(message))) {
    const { _meta: meta } = params
    const opens = isObject(meta) && opensUrls(meta[CAPABILITIES])
    return opens && INPUT_METHODS.has(method) ? 'input' : undefined
  }
  const opens = method === 'initialize' ? opensUrls(params['capabilities']) : session?.opensUrls
  return opens === true ? 'error' : undefined
}

/** True if a client with these capabilities opens URLs for its user. */
export function opensUrls(capabilities: unknown): boolean {
  if (!isObject(capabilities) || !isObject(capabilities['elicitation'])) return false
  return isObject(capabilities['elicitation']['url'])
}

/** `id` is as the client wrote it. */
export function consentReply(id: string, form: ConsentForm, server: string, link: string): Reply {
  const message = `Server \`${server}\` requires your consent.`
  const request = { mode: 'url', url: link, message }
  if (form === 'input') {
    const asked = { [CONSENT]: { method: 'elicitation/create', params: request } }
    const result = { resultType: 'input_required', inputRequests: asked }
    const text = `{"jsonrpc":"2.0","id":${id},"result":${JSON.stringify(result)}}`
    return { ...jsonReply(200, text, 'backend-auth'), detail: DETAIL }
  }
  if (form === 'error') {
    const elicitation = { ...request, elicitationId: randomUUID() }
    const error = {
      code: CODES.urlElicitationRequired,
      message,
      data: { elicitations: [elicitation] },
    }
    return { ...errorReply(200, id, error, 'backend-auth'), detail: DETAIL }
  }
  const error = {
    code: CODES.invalidRequest,
    message: `${message} Open ${link}`,
    data: { url: link },
  }
  const headers = new HeaderEdit(
    ['www-authenticate'],
    [['www-authenticate', `Consent realm="portcullis", uri="${link}"`]],
  )
  return { ...errorReply(401, id, error, 'backend-auth'), headers, detail: DETAIL }
}

const DETAIL = 'the user has not consented'

/** Returns the client's input responses without the gateway's; undefined if they are unchanged. */
export function withoutConsent({ params }: ClientMessage): string | undefined {
  const { inputResponses } = params
  if (!isObject(inputResponses) || !(CONSENT in inputResponses)) return undefined
  const { [CONSENT]: _, ...others } = inputResponses
  return exactJson(others)
}
