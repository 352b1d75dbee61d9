import type { Exchange } from '../exchange/exchange.ts'
import type { CallService } from '../exchange/service-call.ts'
import type { ValidPolicy } from '../model/policy.ts'
import type { AwsCredentials } from './aws-keys.ts'
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

/* AWS credentials from the environment, in the lookup order of the SDKs. */

export type FindAws = (
  exchange: Exchange,
) => AwsCredentials | NoCredential | Promise<AwsCredentials | NoCredential>

type Source = (exchange: Exchange) => Promise<Fetched<AwsCredentials>>

const TIMEOUT = 5_000
const DEFAULT_LIFE = 60_000

export function openAwsCredentials(policy: ValidPolicy, context: CompileContext): FindAws {
  const env = context.policyDeps.environment ?? process.env
  const { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: key, AWS_SESSION_TOKEN: token } = env
  if (isText(id) && isText(key)) {
    const found = {
      accessKeyId: id,
      secretAccessKey: key,
      ...(isText(token) && { sessionToken: token }),
    }
    return () => found
  }
  const source = sourceIn(env, context.policyDeps.date ?? Date.now, connectorOf(policy, context))
  const kept = context.kept(policy, () => new KeptCredentials<AwsCredentials>(), 'aws')
  return (exchange) => kept.find('', context.now, () => source(exchange))
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

function sourceIn(env: Environment, date: () => number, connect: Connect): Source {
  const { AWS_ROLE_ARN: role, AWS_WEB_IDENTITY_TOKEN_FILE: file } = env
  if (isText(role) && isText(file)) return webIdentity(role, file, env, date, connect)
  const relative = env['AWS_CONTAINER_CREDENTIALS_RELATIVE_URI']
  const full = isText(relative)
    ? `http://169.254.170.2${relative}`
    : env['AWS_CONTAINER_CREDENTIALS_FULL_URI']
  return isText(full) ? container(full, env, date, connect) : machine(env, date, connect)
}

/** Kubernetes rewrites the file before its token expires. */
function webIdentity(
  role: string,
  file: string,
  env: Environment,
  date: () => number,
  connect: Connect,
): Source {
  const region = env['AWS_REGION'] ?? env['AWS_DEFAULT_REGION']
  const usual = region === undefined ? 'sts.amazonaws.com' : `sts.${region}.amazonaws.com`
  const ask = connect((env['AWS_ENDPOINT_URL_STS'] ?? `https://${usual}`).replace(/\/+$/, ''))
  return async (exchange) => {
    const token = await trimmedFile(file)
    if (token === '') return failed('the web identity token cannot be read')
    const form = new URLSearchParams({
      Action: 'AssumeRoleWithWebIdentity',
      Version: '2011-06-15',
      RoleArn: role,
      RoleSessionName: env['AWS_ROLE_SESSION_NAME'] ?? 'portcullis',
      WebIdentityToken: token,
    })
    const said = await call(exchange, ask, {
      method: 'POST',
      path: '/',
      headers: FORM,
      body: Buffer.from(form.toString()),
    })
    const found = jsonIn(said, (all) => {
      const response = all['AssumeRoleWithWebIdentityResponse'] as Fields | undefined
      const result = response?.['AssumeRoleWithWebIdentityResult'] as Fields | undefined
      return result?.['Credentials'] as Fields | undefined
    })
    return read(said, found, 'SessionToken', date)
  }
}

/** ECS and EKS; plain HTTP only for loopback and their well-known addresses, like the SDKs. */
function container(text: string, env: Environment, date: () => number, connect: Connect): Source {
  const url = URL.parse(text)
  const isNear = url !== null && (url.protocol === 'https:' || NEAR.has(url.hostname))
  const ask = isNear ? connect(url.origin) : undefined
  return async (exchange) => {
    if (url === null || ask === undefined)
      return failed('the container credentials URL is invalid or not allowed')
    const file = env['AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE']
    const token = isText(file) ? await trimmedFile(file) : env['AWS_CONTAINER_AUTHORIZATION_TOKEN']
    const headers = isText(token) ? ([['authorization', token]] as const) : []
    const path = `${url.pathname}${url.search}`
    const said = await call(exchange, ask, { method: 'GET', path, headers, body: NO_BODY })
    return read(said, jsonIn(said), 'Token', date)
  }
}

const NEAR: ReadonlySet<string> = new Set([
  '127.0.0.1',
  'localhost',
  '[::1]',
  '169.254.170.2',
  '169.254.170.23',
  '[fd00:ec2::23]',
])

/** The EC2 metadata service, version 2: requests a token first, then the name of the role. */
function machine(env: Environment, date: () => number, connect: Connect): Source {
  const usual = env['AWS_EC2_METADATA_SERVICE_ENDPOINT'] ?? 'http://169.254.169.254'
  const isOff = env['AWS_EC2_METADATA_DISABLED']?.toLowerCase() === 'true'
  const ask = isOff ? undefined : connect(usual.replace(/\/+$/, ''))
  return async (exchange) => {
    const token = await call(exchange, ask, {
      method: 'PUT',
      path: '/latest/api/token',
      headers: [['x-aws-ec2-metadata-token-ttl-seconds', '300']],
      body: NO_BODY,
    })
    if (typeof token !== 'string') return { value: token, life: 0 }
    const get = (path: string) => {
      const headers = [['x-aws-ec2-metadata-token', token.trim()]] as const
      return call(exchange, ask, { method: 'GET', path, headers, body: NO_BODY })
    }
    const roles = await get(ROLES)
    if (typeof roles !== 'string') return { value: roles, life: 0 }
    const [role = ''] = roles.trim().split('\n')
    if (!/^[\w+=,.@-]{1,128}$/.test(role)) return failed('the instance has no IAM role')
    const said = await get(`${ROLES}${role}`)
    return read(said, jsonIn(said), 'Token', date)
  }
}

const ROLES = '/latest/meta-data/iam/security-credentials/'

type Fields = Readonly<Record<string, unknown>>

function failed(detail: string): Fetched<AwsCredentials> {
  return { value: { detail: `${WHAT}: ${detail}` }, life: 0 }
}

const WHAT = 'aws credentials'

async function call(
  exchange: Exchange,
  ask: CallService | undefined,
  question: CredentialQuestion,
): Promise<string | NoCredential> {
  if (ask === undefined) return { detail: `${WHAT}: not found in the environment` }
  return fetchText(exchange, ask, question, { what: WHAT, timeout: TIMEOUT })
}

function jsonIn(
  said: string | NoCredential,
  pick: (all: Fields) => Fields | undefined = (all) => all,
): Fields | undefined {
  if (typeof said !== 'string') return undefined
  try {
    const value: unknown = JSON.parse(said)
    return typeof value === 'object' && value !== null ? pick(value as Fields) : undefined
  } catch {
    return undefined
  }
}

function read(
  said: string | NoCredential,
  found: Fields | undefined,
  tokenKey: 'Token' | 'SessionToken',
  date: () => number,
): Fetched<AwsCredentials> {
  if (typeof said !== 'string') return { value: said, life: 0 }
  const {
    AccessKeyId: accessKeyId,
    SecretAccessKey: secretAccessKey,
    Expiration: end,
  } = found ?? {}
  const sessionToken = found?.[tokenKey]
  if (!isText(accessKeyId) || !isText(secretAccessKey) || !isText(sessionToken)) {
    return failed('the response contains no credentials')
  }
  // A date, or seconds since 1970.
  const until = typeof end === 'number' ? end * 1_000 : Date.parse(String(end))
  const life = Number.isNaN(until) ? DEFAULT_LIFE : Math.max(0, until - date())
  return { value: { accessKeyId, secretAccessKey, sessionToken }, life }
}
