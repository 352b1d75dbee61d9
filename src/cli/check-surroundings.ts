import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import type { Model } from '../model/model.ts'
import type { ValidPolicy } from '../model/policy.ts'
import { isLoopback, type Settings } from '../model/settings.ts'
import type { Budget } from '../policies/budgets/schema.ts'
import { visitPolicies } from '../reach/all-layers.ts'
import type { Environment } from '../sources/file/expand.ts'

interface Needs {
  /** The name of the file. */
  readonly name: string
  readonly model: Model
  readonly settings: Settings | undefined
  readonly text: string
  readonly environment: Environment
}

/** What a configuration needs, but the machine, the environment or its settings do not have. */
export function surroundingProblems(around: Needs): readonly Diagnostic[] {
  return [
    ...missingPrograms(around.model, around.environment),
    ...unpricedBudgets(around.model, around.settings),
    ...defaultSecrets(around),
    ...uiAccess(around),
  ]
}

function missingPrograms(model: Model, environment: Environment): readonly Diagnostic[] {
  return model.backends.flatMap((backend) => {
    const targets = backend.kind === 'mcp' ? backend.targets : []
    return targets.flatMap(({ name, origin, transport, options }): Diagnostic[] => {
      if (transport !== 'stdio') return []
      const { cmd, env, clearEnv } = options as unknown as Program
      const path = env['PATH'] ?? (clearEnv ? undefined : environment['PATH'])
      if (isThere(cmd, path)) return []
      const message = `MCP server \`${name}\`: the program \`${cmd}\` does not exist here`
      const where = cmd.includes('/') ? '' : ', or write its path: it is looked up in PATH'
      const hint = `install it${where}; until it is there, calls of this server fail`
      return [{ code: 'PC0323', severity: 'warning', message, hint, origin }]
    })
  })
}

interface Program {
  readonly cmd: string
  readonly env: Readonly<Record<string, string>>
  readonly clearEnv: boolean
}

/** As `spawn` finds it. Without PATH, that depends on the operating system. */
function isThere(cmd: string, path: string | undefined): boolean {
  if (cmd.includes('/')) return isProgram(cmd)
  if (path === undefined || process.platform === 'win32') return true
  return path.split(delimiter).some((folder) => isProgram(join(folder === '' ? '.' : folder, cmd)))
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    return false
  }
}

function unpricedBudgets(model: Model, settings: Settings | undefined): readonly Diagnostic[] {
  if (settings === undefined || settings.modelCatalog.length > 0) return []
  const found = new Set<ValidPolicy>()
  visitPolicies(model, (policies) => {
    for (const one of policies) if (one.state === 'valid' && countsDollars(one)) found.add(one)
  })
  return [...found].map(({ origin }) => ({
    code: 'PC0324',
    severity: 'warning',
    message:
      'this budget is in dollars, and no model has a price: the calls that it counts are denied',
    hint: 'set `config.modelCatalog`, or use `tokens` or `requests`',
    origin,
  }))
}

function countsDollars({ kind, value }: ValidPolicy): boolean {
  return kind === 'budgets' && (value as readonly Budget[]).some((one) => one.measure === 'usd')
}

/** The Admin UI on ports of gateways requires sign-in, and a way back from it. */
function uiAccess({ model, settings, environment }: Needs): readonly Diagnostic[] {
  const ui = model.backends.find(({ kind }) => kind === 'admin')
  if (ui === undefined || settings === undefined) return []
  const { adminAuth, admin } = settings
  if (adminAuth === undefined) {
    // On other addresses, the gateway makes a token when it starts.
    const isOpen = admin.kind !== 'tcp' || isLoopback(admin.host)
    if (!isOpen || environment['PORTCULLIS_ADMIN_TOKEN'] !== undefined) return []
    return [{ ...openUi(ui.origin), severity: 'warning' }]
  }
  if (new URL(adminAuth.oidc.redirectUri).pathname.startsWith('/ui/')) return []
  return [
    {
      code: 'PC0327',
      severity: 'warning',
      message:
        'users cannot sign in to the Admin UI on the gateway: `redirectUri` is the admin address',
      hint: 'use the address of the UI, with the path /ui/api/auth/callback',
      origin: ui.origin,
    },
  ]
}

/** What a gateway says that would serve the Admin UI to everyone. */
export function openUi(origin: Diagnostic['origin']): Diagnostic {
  return {
    code: 'PC0326',
    severity: 'error',
    message: '`ui` serves the Admin UI on a port of a gateway, but its users need not sign in',
    hint: 'set `config.adminAuth` or the environment variable PORTCULLIS_ADMIN_TOKEN, or remove `ui` and use `config.adminAddr`',
    origin,
  }
}

/** A key with the default of an unset variable; line comments do not count. */
const DEFAULT_SECRET =
  /^[^#\n]*?["']?(\w*(?:key|secret|token|password))["']?\s*:\s*["']?(\$\{([A-Za-z_]\w*):-([^}\n]+)\})/gim

function defaultSecrets({ name: file, text, environment }: Needs): readonly Diagnostic[] {
  return [...text.matchAll(DEFAULT_SECRET)].flatMap((match): Diagnostic[] => {
    const [whole, field = '', written = '', variable = '', instead = ''] = match
    if ((environment[variable] ?? '') !== '') return []
    const before = text.slice(0, match.index + whole.length - written.length).split('\n')
    const column = [...(before.at(-1) ?? '')].length + 1
    const origin = { kind: 'file', file, line: before.length, column } as const
    const message = `\`${field}\` is the text \`${instead}\`: environment variable ${variable} is not set`
    return [{ code: 'PC0325', severity: 'warning', message, hint: `set ${variable}`, origin }]
  })
}
