import type { Exchange } from '../exchange/exchange.ts'
import { headerEdit } from '../exchange/header-edit.ts'
import type { AiProvider, Endpoint } from '../model/backend.ts'
import { writtenCredentials } from '../policies/aws-keys.ts'
import type { BackendAuth } from '../policies/backend-auth/schema.ts'
import { signAws } from '../policies/sigv4.ts'

/** Signs a complete request to a provider; returns false if there are no signing credentials. */
export type RequestSigner = (exchange: Exchange, body: Uint8Array) => boolean

/** Undefined if a key is enough, or nothing is sent. */
export function requestSigner(
  auth: BackendAuth | undefined,
  { options }: AiProvider,
  endpoint: Endpoint,
  date: () => number,
): RequestSigner | undefined {
  if (auth?.kind !== 'aws') return undefined
  const { service } = auth
  const region = auth.region ?? String(options.region ?? '')
  const written = writtenCredentials(auth)
  const host = hostOf(endpoint)
  return (exchange, body) => {
    const credentials = written ?? exchange.awsCredentials
    if (credentials === undefined) return false
    const query = exchange.search.slice(1)
    const request = { method: exchange.request.method, path: exchange.path, query, body }
    const now = new Date(date())
    const headers = signAws(
      { ...request, headers: [['host', host]] },
      { region, service, credentials, now },
    )
    const set = headers.map(([name, value]) => ({ name, value }))
    exchange.credentialEdit = exchange.credentialEdit.with(headerEdit({ set }))
    return true
  }
}

/** The host as sent to the provider. */
function hostOf({ host, port, scheme }: Endpoint): string {
  const name = host.includes(':') ? `[${host}]` : host
  return port === (scheme === 'https' ? 443 : 80) ? name : `${name}:${port}`
}
