/** Settings of other gateways that are harmless to ignore; setting one is reported. */
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
  'trustDomain',
  'xdsAddress',
  'xdsAuthToken',
]

/** Settings of features that this version does not have; setting one is reported. */
export const SETTINGS_THAT_WAIT: readonly (readonly string[])[] = [['standardAttributes']]

/** `hybrid` is the name in files written for other gateways. */
export function isDatabase(mode: unknown): mode is string {
  return mode === 'database' || mode === 'hybrid'
}
