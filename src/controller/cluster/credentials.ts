import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { parse } from 'yaml'
import { type ExecCredential, runPlugin } from './exec-credentials.ts'

/** The address of the API server and the client's credentials. */
export interface Credentials {
  readonly server: URL
  readonly tls: {
    readonly ca?: Buffer
    readonly cert?: Buffer
    readonly key?: Buffer
    readonly rejectUnauthorized?: boolean
  }
  readonly token?: () => string | undefined
}

const ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount'
/** Tokens of a pod are replaced while it runs, about once an hour. */
const TOKEN_AGE = 60_000

type Environment = Readonly<Record<string, string | undefined>>

/** Returns the credentials of the current pod, or else those of a kubeconfig. */
export function findCredentials(environment: Environment, kubeconfig?: string): Credentials {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = '443' } = environment
  if (kubeconfig === undefined && environment['KUBECONFIG'] === undefined && host !== undefined) {
    const named = host.includes(':') ? `[${host}]` : host
    const token = fileToken(join(ACCOUNT, 'token'))
    const ca = readFileSync(join(ACCOUNT, 'ca.crt'))
    return { server: new URL(`https://${named}:${port}`), tls: { ca }, token }
  }
  const path = kubeconfig ?? environment['KUBECONFIG'] ?? join(homedir(), '.kube/config')
  return readKubeconfig(path)
}

interface Kubeconfig {
  readonly 'current-context'?: string
  readonly contexts?: readonly Named<
    'context',
    { readonly cluster: string; readonly user: string }
  >[]
  readonly clusters?: readonly Named<'cluster', Readonly<Record<string, unknown>>>[]
  readonly users?: readonly Named<'user', Readonly<Record<string, unknown>>>[]
}

type Named<K extends string, T> = { readonly name: string } & Readonly<Record<K, T>>

export function readKubeconfig(path: string): Credentials {
  const config = (parse(readFileSync(path, 'utf8')) ?? {}) as Kubeconfig
  const named = config['current-context']
  const context = config.contexts?.find(({ name }) => name === named) ?? config.contexts?.[0]
  const cluster = config.clusters?.find(({ name }) => name === context?.context.cluster)?.cluster
  const user = config.users?.find(({ name }) => name === context?.context.user)?.user ?? {}
  if (cluster === undefined) throw new Error(`${path}: the current context has no cluster`)
  if (user['auth-provider'] !== undefined) {
    throw new Error(
      `${path}: \`auth-provider\` is no longer part of Kubernetes; use \`exec\`, a certificate or a token`,
    )
  }
  const folder = dirname(resolve(path))
  const material = (from: Readonly<Record<string, unknown>>, key: string): Buffer | undefined => {
    const inline = from[`${key}-data`]
    if (typeof inline === 'string') return Buffer.from(inline, 'base64')
    const file = from[key]
    return typeof file === 'string' ? readFileSync(resolve(folder, file)) : undefined
  }
  const ca = material(cluster, 'certificate-authority')
  const run = () => runPlugin(user['exec'], { file: path, folder, cluster })
  const made = user['exec'] === undefined ? undefined : run()
  const cert = made?.cert ?? material(user, 'client-certificate')
  const key = made?.key ?? material(user, 'client-key')
  const { token, tokenFile } = user as { readonly token?: string; readonly tokenFile?: string }
  const tls = {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(cluster['insecure-skip-tls-verify'] === true ? { rejectUnauthorized: false } : {}),
  }
  const server = new URL(String(cluster['server']))
  if (made?.token !== undefined) return { server, tls, token: pluginToken(made, run) }
  if (tokenFile !== undefined) return { server, tls, token: fileToken(resolve(folder, tokenFile)) }
  return token === undefined ? { server, tls } : { server, tls, token: () => token }
}

/** The token of a plug-in, which runs again shortly before it expires. */
function pluginToken(first: ExecCredential, run: () => ExecCredential): () => string | undefined {
  let known = first
  return () => {
    const { expiresAt = Number.POSITIVE_INFINITY } = known
    if (Date.now() + EXPIRY_MARGIN >= expiresAt) known = run()
    return known.token
  }
}

const EXPIRY_MARGIN = 30_000

function fileToken(path: string): () => string | undefined {
  let known: string | undefined
  let readAt = Number.NEGATIVE_INFINITY
  return () => {
    if (performance.now() - readAt < TOKEN_AGE) return known
    try {
      known = readFileSync(path, 'utf8').trim()
      readAt = performance.now()
    } catch {
      // The known token may still be valid.
    }
    return known
  }
}
