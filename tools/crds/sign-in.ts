import { IDENTITY_PROVIDERS } from '../../src/policies/jwt-authentication/identity-providers.ts'
import { of } from './policy-shapes.ts'
import { backendRef, matchLabels, secretKeyRef, secretRef } from './references.ts'
import { exactlyOne, list, object, type Structural, text, validated, words } from './structural.ts'

const remoteKeys = object(
  'The URL to fetch the key set from.',
  {
    url: text('The address of the key set.', { pattern: '^https?://[^\\s?#@]+(?:\\?[^\\s#]*)?$' }),
    backendRef: backendRef('A backend that serves the key set. Requires `jwksPath`.'),
    jwksPath: text('The path of the key set on the backend.', { pattern: '^/\\S*$' }),
    cacheDuration: {
      ...text('How long a fetched key set is cached.', {
        maxLength: 32,
        pattern: '^([0-9]{1,9}(\\.[0-9]{1,3})?(h|ms|m|s)){1,4}$',
      }),
      default: '15m',
    },
  },
  exactlyOne(['url', 'backendRef']),
  {
    rule: 'has(self.jwksPath) == has(self.backendRef)',
    message: 'jwksPath and backendRef must be set together',
  },
)

export const keySet = object(
  'The keys that verify tokens.',
  {
    inline: text('The key set as a JSON string.', { minLength: 2, maxLength: 65_536 }),
    remote: remoteKeys,
  },
  exactlyOne(['inline', 'remote']),
)

const jwtFromFile = of('jwtAuthentication', {
  'providers[].jwks': keySet,
  jwks: undefined,
  issuer: undefined,
  audiences: undefined,
  jwtValidationOptions: undefined,
  leeway: undefined,
  provider: words(
    'The type of identity provider that the gateway presents to MCP clients. Requires ' +
      '`resourceMetadata` and a single entry in `providers`.',
    IDENTITY_PROVIDERS,
  ),
  clientSecret: undefined,
})
const jwtAuthentication: Structural = {
  ...jwtFromFile,
  required: ['providers'],
  properties: {
    ...jwtFromFile.properties,
    clientSecretRef: secretKeyRef(
      'A Secret that contains the secret of the client in `clientId`. For Entra.',
      'clientSecret',
    ),
  },
}

const basicAuthentication = of('basicAuth', { htpasswd: undefined })
const basicWithSecret: Structural = {
  ...basicAuthentication,
  properties: {
    ...basicAuthentication.properties,
    secretRef: secretKeyRef(
      'A Secret that contains users and password hashes in htpasswd format.',
      '.htaccess',
    ),
  },
  ...validated([exactlyOne(['users', 'secretRef'])]),
}

const apiKeys = of('apiKey', { keys: undefined })
const selector = (what: string) => object(what, { 'matchLabels!': matchLabels })
const apiKeyAuthentication: Structural = {
  ...apiKeys,
  properties: {
    ...apiKeys.properties,
    secretRef: secretRef('A Secret whose values are API keys.'),
    secretSelector: selector('Selects Secrets whose values are API keys.'),
    configMapSelector: selector('Selects ConfigMaps whose values are hashes of API keys.'),
  },
  ...validated([exactlyOne(['secretRef', 'secretSelector', 'configMapSelector'])]),
}

const oidcFromFile = of('oidc', { clientSecret: undefined, cookieSecret: undefined })
export const oidc: Structural = {
  ...oidcFromFile,
  required: ['issuer', 'clientId', 'redirectUri', 'cookieSecretRef'],
  properties: {
    ...oidcFromFile.properties,
    clientSecretRef: secretKeyRef(
      'A Secret that contains the client secret. Omit it for a public client, which uses PKCE.',
      'clientSecret',
    ),
    cookieSecretRef: secretKeyRef(
      'A Secret that contains the key of session cookies: 64 random hexadecimal digits.',
      'OIDC_COOKIE_SECRET',
    ),
  },
}

export const ways = {
  jwtAuthentication,
  basicAuthentication: basicWithSecret,
  apiKeyAuthentication,
}
const several = of('authentication', { anyOf: undefined })
export const authentication: Structural = {
  ...several,
  required: ['anyOf'],
  properties: {
    ...several.properties,
    anyOf: list(
      'Authentication methods, tried in this order. One valid credential is enough.',
      object('An authentication method.', ways, exactlyOne(Object.keys(ways))),
      1,
      16,
    ),
  },
}
