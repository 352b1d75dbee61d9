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
  'trustDomain',
  'xdsAddress',
  'xdsAuthToken',
]

/** Settings of parts that this version does not have; whoever sets one is told so. */
export const SETTINGS_THAT_WAIT: readonly (readonly string[])[] = [['standardAttributes']]

/** `hybrid` is the name in files written for others. */
export function isDatabase(mode: unknown): mode is string {
  return mode === 'database' || mode === 'hybrid'
}
