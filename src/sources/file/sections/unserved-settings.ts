/** Settings of others that do no harm when they do nothing; whoever sets one is told so. */
export const SETTINGS_WITHOUT_EFFECT = [
  'additionalTrustDomains',
  'caAddress',
  'caAuthToken',
  'clusterId',
  'customFunctions',
  'gateway',
  'hbone',
  'localXdsPath',
  'namespace',
  'network',
  'serviceAccount',
  'skipValidateTrustDomain',
  'spiffe',
  'tracing',
  'trustDomain',
  'xdsAddress',
  'xdsAuthToken',
]

/** Settings of parts that this version does not have; whoever sets one is told so. */
export const SETTINGS_THAT_WAIT: readonly (readonly string[])[] = [
  ['database'],
  ['modelCatalog'],
  ['standardAttributes'],
]

/**
 * Settings that whoever sets them relies on, and that this version does not implement: a gateway
 * that started without them would not be the one that was asked for.
 */
export function notImplemented(config: unknown): readonly NotImplemented[] {
  if (typeof config !== 'object' || config === null) return []
  const { storage } = config as RefusedSettings
  return [
    ...(isDatabase(storage?.mode)
      ? [
          {
            key: ['storage', 'mode'],
            message: `\`config.storage.mode: ${storage?.mode}\` is not implemented in this version: edits would not be stored`,
            hint: 'set `readonly`; with the Helm chart, set `mode: readonly`',
          },
        ]
      : []),
  ]
}

interface RefusedSettings {
  readonly storage?: { readonly mode?: unknown } | null
}

interface NotImplemented {
  readonly key: readonly string[]
  readonly message: string
  readonly hint: string
}

/** `hybrid` is the name in files written for others. */
export function isDatabase(mode: unknown): mode is string {
  return mode === 'database' || mode === 'hybrid'
}
