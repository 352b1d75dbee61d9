import { hostname } from 'node:os'
import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import type { Model } from '../model/model.ts'
import type { Environment } from '../sources/file/expand.ts'
import type { Source } from '../sources/source.ts'
import type { Logger } from '../telemetry/log.ts'
import { UsageError } from './define.ts'

/** The address of the controller, and the credentials for it. */
export interface ControllerOptions {
  readonly address: string
  readonly caFile: string | undefined
  readonly tokenFile: string | undefined
  readonly stateFile: string | undefined
  readonly node: string
}

/** `address`: from the command line; otherwise the environment is used, if set. */
export function controllerOf(
  address: string | undefined,
  environment: Environment,
): ControllerOptions | undefined {
  const variable = (name: string) => {
    const value = environment[`PORTCULLIS_XDS_${name}`]
    return value === '' ? undefined : value
  }
  const named = address ?? variable('ADDRESS')
  if (named === undefined) return undefined
  return {
    address: originOf(named),
    caFile: variable('CA'),
    tokenFile: variable('TOKEN'),
    stateFile: variable('STATE'),
    node: environment['POD_NAME'] ?? hostname(),
  }
}

function originOf(address: string): string {
  const url = URL.parse(address)
  const isPlain = url?.pathname === '/' && url.search === '' && url.username === ''
  if (!isPlain || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw new UsageError(
      `\`${address}\` is not a valid address; expected a URL such as https://controller:9978`,
    )
  }
  return url.origin
}

/** With a controller, a file may contain only settings: nothing else would ever be served. */
export function onlySettings(file: string, model: Model): readonly Diagnostic[] {
  const sections = Object.entries(model).flatMap(([name, value]) => {
    if (value === undefined) return []
    return Array.isArray(value) && value.length === 0 ? [] : [name]
  })
  return sections.map((field) => ({
    code: 'PC0804',
    severity: 'error',
    message: `\`${field}\` is ignored because the configuration comes from a controller`,
    origin: { kind: 'object', object: file, field },
    hint: 'keep only `config` in the file, or remove `--xds` and PORTCULLIS_XDS_ADDRESS',
  }))
}

/** gRPC is loaded only by proxies that need it. */
export async function openController(
  { address, ...options }: ControllerOptions,
  log: Logger,
): Promise<Source> {
  const { XdsSource } = await import('../sources/xds/xds-source.ts')
  return new XdsSource({
    ...options,
    address,
    events: {
      connected: () => log.info('xds', { controller: address, message: 'connected' }),
      lost: (error, retryIn) =>
        log.warn('xds', { controller: address, error, retryIn: Math.round(retryIn) }),
      warned: ({ code, message }) => log.warn('xds', { code, message }),
    },
  })
}
