import type { Environment } from '../sources/file/expand.ts'
import { fetchAnalysis } from './admin-client.ts'
import { UsageError } from './define.ts'
import type { Explained } from './explanation.ts'
import { bodyFrom, type HypotheticalOptions } from './hypothetical-request.ts'

interface ServedOptions extends HypotheticalOptions {
  readonly decision?: string
  readonly decisions?: readonly string[]
  readonly cluster?: boolean
}

/** Explains a request by the configuration of a running gateway; a message if it cannot. */
export async function explainServed(
  admin: string,
  options: ServedOptions,
  environment: Environment,
): Promise<Explained | string> {
  if (options.decisions !== undefined || options.cluster === true) {
    throw new UsageError('--admin without FILE cannot be combined with --decisions or --cluster')
  }
  const { decision } = options
  if (decision !== undefined) {
    const path = `/api/decisions/${encodeURIComponent(decision)}/explain`
    return fetchAnalysis<Explained>(admin, path, environment)
  }
  const { request, header: headers, user, source, sni, identity } = options
  const { listener, backend, provider } = options
  const sent = {
    ...{ request, headers, user, source, sni, identity, listener, backend, provider },
    claims: objectIn('claims', options.claims),
    apiKey: objectIn('api-key', options['api-key']),
    certificate: objectIn('certificate', options.certificate),
    body: textOf(bodyFrom(options)),
  }
  return fetchAnalysis<Explained>(admin, '/api/policies/explain', environment, sent)
}

function objectIn(option: string, text: string | undefined): object | undefined {
  if (text === undefined) return undefined
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // Reported below.
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  throw new UsageError(`--${option} must be a JSON object, for example {"sub":"alice"}`)
}

/** JSON can only carry valid UTF-8. */
function textOf(body: Uint8Array | undefined): string | undefined {
  if (body === undefined) return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body)
  } catch {
    throw new UsageError('a body that is not UTF-8 can be explained only with a configuration file')
  }
}
