import type { Exchange } from '../exchange/exchange.ts'
import type { CallService } from '../exchange/service-call.ts'
import type { ValidPolicy } from '../model/policy.ts'
import { secretText } from '../model/secret.ts'
import type { AzureIdentity, UserAssigned } from './azure-identity.ts'
import {
  type Connect,
  type CredentialQuestion,
  connectorOf,
  type Environment,
  FORM,
  fetchText,
  NO_BODY,
  trimmedFile,
} from './credential-source.ts'
import type { CompileContext } from './define.ts'
import { type Fetched, KeptCredentials, type NoCredential } from './kept-credential.ts'
import { isSendable } from './sent-key.ts'

/** Returns the token to send for a request. */
export type FindToken = (
  exchange: Exchange,
) => string | NoCredential | Promise<string | NoCredential>

/** How a token is requested; built anew each time, since files and secrets are rotated. */
type Request = (scope: string) => Promise<TokenRequest | NoCredential>

interface TokenRequest {
  readonly ask: CallService
  readonly question: CredentialQuestion
}

const COGNITIVE = 'https://cognitiveservices.azure.com/.default'
const FOUNDRY = 'https://ai.azure.com/.default'
const TIMEOUT = 10_000
const DEFAULT_LIFE = 60_000

/** Tokens survive a reload as long as the policy is unchanged. */
export function openAzureTokens(
  identity: AzureIdentity,
  policy: ValidPolicy,
  context: CompileContext,
): FindToken {
  const environment = context.policyDeps.environment ?? process.env
  const request = requestFor(identity, environment, connectorOf(policy, context))
  const kept = context.kept(policy, () => new KeptCredentials<string>(), 'azure')
  return (exchange) => {
    const scope = identity.scope ?? scopeFor(exchange.providerHost)
    return kept.find(scope, context.now, () => fetchToken(exchange, request, scope))
  }
}

function scopeFor(host: string | undefined): string {
  return host?.endsWith('.services.ai.azure.com') === true ? FOUNDRY : COGNITIVE
}

function requestFor(identity: AzureIdentity, env: Environment, connect: Connect): Request {
  switch (identity.kind) {
    case 'clientSecret': {
      const { tenantId, clientId, clientSecret } = identity
      return bySecret(tenantId, clientId, () => secretText(clientSecret)?.trim(), env, connect)
    }
    case 'managedIdentity':
      return fromMachine(identity.user, env, connect)
    case 'workloadIdentity':
      return byFile(env, connect)
    case 'implicit':
      return fromEnvironment(env, connect)
  }
}

/** In the lookup order of the Azure SDKs. */
function fromEnvironment(env: Environment, connect: Connect): Request {
  const { AZURE_TENANT_ID: tenant, AZURE_CLIENT_ID: client, AZURE_CLIENT_SECRET: own } = env
  if (tenant !== undefined && client !== undefined && own !== undefined) {
    return bySecret(tenant, client, () => own, env, connect)
  }
  if (env['AZURE_FEDERATED_TOKEN_FILE'] !== undefined) return byFile(env, connect)
  const user = client === undefined ? undefined : ({ by: 'client_id', id: client } as const)
  return fromMachine(user, env, connect)
}

function bySecret(
  tenant: string,
  client: string,
  read: () => string | undefined,
  env: Environment,
  connect: Connect,
): Request {
  const post = tokenEndpoint(tenant, env, connect)
  return async (scope) => {
    const own = read()
    if (own === undefined || own === '') return { detail: 'the client secret is empty' }
    return post({ client_id: client, client_secret: own, scope })
  }
}

const ASSERTION = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

/** Kubernetes rewrites the file before its token expires. */
function byFile(env: Environment, connect: Connect): Request {
  const { AZURE_TENANT_ID: tenant, AZURE_CLIENT_ID: client } = env
  const file = env['AZURE_FEDERATED_TOKEN_FILE']
  if (tenant === undefined || client === undefined || file === undefined) {
    const detail = 'AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_FEDERATED_TOKEN_FILE are not all set'
    return () => Promise.resolve({ detail })
  }
  const post = tokenEndpoint(tenant, env, connect)
  return async (scope) => {
    const text = await trimmedFile(file)
    if (text === '') return { detail: 'the federated token cannot be read' }
    const assertion = { client_assertion_type: ASSERTION, client_assertion: text }
    return post({ client_id: client, ...assertion, scope })
  }
}

function tokenEndpoint(tenant: string, env: Environment, connect: Connect) {
  const authority = env['AZURE_AUTHORITY_HOST'] ?? 'https://login.microsoftonline.com'
  const ask = connect(authority.replace(/\/+$/, ''))
  return (form: Readonly<Record<string, string>>): TokenRequest | NoCredential => {
    if (ask === undefined) return { detail: 'AZURE_AUTHORITY_HOST is not a URL' }
    const body = new URLSearchParams({ grant_type: 'client_credentials', ...form }).toString()
    const path = `/${encodeURIComponent(tenant)}/oauth2/v2.0/token`
    return { ask, question: { method: 'POST', path, headers: FORM, body: Buffer.from(body) } }
  }
}

/** App Service and similar hosts have their own endpoint; virtual machines use the default one. */
function fromMachine(user: UserAssigned | undefined, env: Environment, connect: Connect): Request {
  const { IDENTITY_ENDPOINT: endpoint, IDENTITY_HEADER: header } = env
  const isHosted = endpoint !== undefined && header !== undefined && URL.canParse(endpoint)
  const usual = env['AZURE_POD_IDENTITY_AUTHORITY_HOST'] ?? 'http://169.254.169.254'
  const { origin, pathname } = new URL(isHosted ? endpoint : URL.canParse(usual) ? usual : NOWHERE)
  const ask = connect(origin)
  const headers = isHosted ? ([['x-identity-header', header]] as const) : MACHINE
  const path = isHosted ? pathname : '/metadata/identity/oauth2/token'
  const version = isHosted ? '2019-08-01' : '2018-02-01'
  return (scope) => {
    if (ask === undefined) return Promise.resolve({ detail: 'no managed identity is available' })
    const resource = scope.replace(/\/\.default$/, '')
    const query = new URLSearchParams({ 'api-version': version, resource })
    if (user !== undefined)
      query.set(user.by === 'msi_res_id' && isHosted ? 'mi_res_id' : user.by, user.id)
    const question = { method: 'GET', path: `${path}?${query}`, headers, body: NO_BODY }
    return Promise.resolve({ ask, question })
  }
}

const NOWHERE = 'http://169.254.169.254'
const MACHINE = [['metadata', 'true']] as const

async function fetchToken(
  exchange: Exchange,
  request: Request,
  scope: string,
): Promise<Fetched<string>> {
  const asked = await request(scope)
  if ('detail' in asked) return { value: asked, life: 0 }
  const { ask, question } = asked
  const said = await fetchText(exchange, ask, question, { what: WHAT, timeout: TIMEOUT })
  return typeof said === 'string' ? readToken(said) : { value: said, life: 0 }
}

const WHAT = 'azure token'

function readToken(text: string): Fetched<string> {
  const failed = (detail: string) => ({ value: { detail: `${WHAT}: ${detail}` }, life: 0 })
  let said: { readonly access_token?: unknown; readonly expires_in?: unknown } | null
  try {
    said = JSON.parse(text)
  } catch {
    return failed('the response is not JSON')
  }
  const token = said?.access_token
  if (typeof token !== 'string' || !isSendable(token))
    return failed('the response contains no token')
  // Virtual machines send the number as a string.
  const seconds = Number(said?.expires_in)
  return { value: token, life: seconds > 0 ? seconds * 1_000 : DEFAULT_LIFE }
}
