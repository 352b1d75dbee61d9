import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import * as z from 'zod'

const VERSIONS = ['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1']

/** A credential plug-in, as a kubeconfig names it: a program that prints an ExecCredential. */
const plugin = z.object({
  apiVersion: z.enum(VERSIONS),
  command: z.string().min(1),
  args: z.array(z.string()).nullish(),
  env: z.array(z.object({ name: z.string(), value: z.string() })).nullish(),
  installHint: z.string().optional(),
  provideClusterInfo: z.boolean().optional(),
  interactiveMode: z.string().optional(),
})

const output = z.object({
  kind: z.literal('ExecCredential'),
  status: z.object({
    token: z.string().optional(),
    clientCertificateData: z.string().optional(),
    clientKeyData: z.string().optional(),
    expirationTimestamp: z.iso.datetime({ offset: true }).optional(),
  }),
})

export interface ExecCredential {
  readonly token?: string
  readonly cert?: Buffer
  readonly key?: Buffer
  /** In milliseconds. */
  readonly expiresAt?: number
}

export interface ExecContext {
  /** The kubeconfig, for messages. */
  readonly file: string
  readonly folder: string
  readonly cluster: Readonly<Record<string, unknown>>
}

/** A plug-in may ask its user to sign in. */
const TIMEOUT_MS = 120_000

/** Runs a plug-in, as kubectl does. */
export function runPlugin(spec: unknown, { file, folder, cluster }: ExecContext): ExecCredential {
  const parsed = plugin.safeParse(spec)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    const at = ['exec', ...(issue?.path ?? [])].join('.')
    throw new Error(`${file}: \`${at}\` of the user is not valid: ${issue?.message}`)
  }
  const { apiVersion, command, args, env, installHint, provideClusterInfo } = parsed.data
  const isInteractive = parsed.data.interactiveMode !== 'Never' && process.stdin.isTTY === true
  const info = {
    apiVersion,
    kind: 'ExecCredential',
    spec: { interactive: isInteractive, ...(provideClusterInfo === true ? { cluster } : {}) },
  }
  // A command with a slash is relative to the kubeconfig; any other is looked for in PATH.
  const program = command.includes('/') ? resolve(folder, command) : command
  const run = spawnSync(program, args ?? [], {
    encoding: 'utf8',
    stdio: [isInteractive ? 'inherit' : 'ignore', 'pipe', 'inherit'],
    timeout: TIMEOUT_MS,
    env: {
      ...process.env,
      ...Object.fromEntries((env ?? []).map(({ name, value }) => [name, value])),
      KUBERNETES_EXEC_INFO: JSON.stringify(info),
    },
  })
  const failed = `${file}: the credential plug-in \`${command}\``
  const hint = installHint === undefined ? '' : `; ${installHint}`
  if (run.error !== undefined)
    throw new Error(`${failed} cannot be run: ${run.error.message}${hint}`)
  if (run.status !== 0) throw new Error(`${failed} failed with code ${run.status ?? run.signal}`)
  const made = readOutput(run.stdout)
  if (made === undefined)
    throw new Error(`${failed} printed no ExecCredential with a token or a certificate`)
  return made
}

function readOutput(text: string): ExecCredential | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  const parsed = output.safeParse(value)
  if (!parsed.success) return undefined
  const {
    token,
    clientCertificateData: cert,
    clientKeyData: key,
    expirationTimestamp: end,
  } = parsed.data.status
  if (token === undefined && (cert === undefined || key === undefined)) return undefined
  return {
    ...(token === undefined ? {} : { token }),
    ...(cert === undefined || key === undefined
      ? {}
      : { cert: Buffer.from(cert), key: Buffer.from(key) }),
    ...(end === undefined ? {} : { expiresAt: Date.parse(end) }),
  }
}
