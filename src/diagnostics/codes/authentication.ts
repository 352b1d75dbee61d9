import { defineCodes } from './define.ts'

const HEAD =
  'gateways:\n  default:\n    port: 8080\nroutes:\n- backends: [{ host: "api:8080" }]\n  policies:\n'

export const AUTHENTICATION_CODES = defineCodes('PC05', 'Authentication', [
  {
    code: 'PC0501',
    severity: 'warning',
    title: 'a key of an issuer is ignored',
    explanation:
      'A key in a key set cannot verify tokens: it has no `kid`, is not meant for signatures, ' +
      'is a private key or a symmetric key, is too short, or has the same `kid` as another key. ' +
      'Tokens that refer to it are rejected; the other keys of the set are used. Publish a ' +
      'public key of at least 2048 bits (RSA), or on P-256, P-384, P-521, Ed25519 or Ed448, ' +
      'with a unique `kid` and `use: sig`.',
    example: {
      language: 'yaml',
      wrong: `${HEAD}    jwtAuthentication:\n      issuer: https://issuer.example\n      jwks: '{"keys":[{"kty":"oct","kid":"1","k":"c2VjcmV0"}]}'`,
      right: `${HEAD}    jwtAuthentication:\n      issuer: https://issuer.example\n      jwks: { url: "https://issuer.example/keys" }`,
      sketch: true,
    },
  },
  {
    code: 'PC0502',
    severity: 'warning',
    title: 'an htpasswd line is ignored',
    explanation:
      'A user of `basicAuth` cannot sign in: the line does not have the form `name:hash`, the ' +
      'name is a duplicate, or the hash type is not supported or too expensive to check for ' +
      'each request. Plain-text passwords and the old `crypt` are never accepted. Regenerate ' +
      'the line with `htpasswd -nB name`. Other users are not affected.',
    example: {
      language: 'yaml',
      wrong: `${HEAD}    basicAuth:\n      htpasswd: |\n        alice:secret`,
      right: `${HEAD}    basicAuth:\n      htpasswd: { file: users.htpasswd }`,
      sketch: true,
    },
  },
  {
    code: 'PC0503',
    severity: 'warning',
    title: 'an issuer has no usable key',
    explanation:
      'The key set of an issuer in the configuration is empty, or none of its keys can verify ' +
      'tokens. All tokens from the issuer are rejected, and so are all clients without another ' +
      'credential. Add the public keys of the issuer to the set, or let the gateway fetch them ' +
      'with `url`.',
    example: {
      language: 'yaml',
      wrong: `${HEAD}    jwtAuthentication:\n      issuer: https://issuer.example\n      jwks: '{"keys":[]}'`,
      right: `${HEAD}    jwtAuthentication:\n      issuer: https://issuer.example\n      jwks: { url: "https://issuer.example/keys" }`,
      sketch: true,
    },
  },
  {
    code: 'PC0504',
    severity: 'warning',
    title: 'a credential is stored in the file',
    explanation:
      'The configuration contains an API key in plain text. Anyone who can read the file, a ' +
      'copy of it or its history can use the key. The gateway itself keeps only its hash. ' +
      'Store the hash instead, which is useless to readers: `printf %s KEY | portcullis ' +
      'hash-key` prints it for `keyHash`. Alternatively, read the key from the environment.',
    example: {
      language: 'yaml',
      wrong: `${HEAD}    apiKey:\n      keys: [{ key: robot-key }]`,
      right: `${HEAD}    apiKey:\n      keys: [{ keyHash: "sha256:b2cfb5518f033861ee2dd12be0f7c0b95c23d0b8d1f4c32c8a788f77bc8a52be" }]`,
    },
  },
  {
    code: 'PC0505',
    severity: 'error',
    title: 'the value of a secret is not available',
    explanation:
      'A policy refers to a secret (the users of `basicAuth`, the key of `backendAuth`) whose ' +
      'value was not delivered with the configuration. Configurations refer to secrets by name ' +
      'and version; the values are delivered separately, so that no dump contains them. Without ' +
      'the value, users could not sign in and backends would get no key, so requests that the ' +
      'policy guards get 500, and the log and the status of the policy report it. Apply the ' +
      'configuration again, or check what lies between its source and the gateway: a ' +
      'configuration dump, for example, does not contain secret values.',
    example: {
      language: 'yaml',
      wrong: `${HEAD}    basicAuth:\n      htpasswd: { secretRef: users.htpasswd, version: 9f86d081 }`,
      right: `${HEAD}    basicAuth:\n      htpasswd: { file: users.htpasswd }`,
      sketch: true,
    },
  },
  {
    code: 'PC0506',
    severity: 'error',
    title: 'a signing key cannot be used',
    explanation:
      'The `signingKey` of `backendAuth.jwtSign` is not a PEM private key, or does not match ' +
      'the algorithm in `alg`: RS and PS require an RSA key of at least 2048 bits, ES256 a key ' +
      'on P-256, ES384 on P-384, ES512 on P-521, and EdDSA an Ed25519 key. Requests to the ' +
      'backend get 500, because they would be sent without a credential.',
    example: {
      language: 'yaml',
      wrong: `${HEAD}    backendAuth:\n      jwtSign:\n        signingKey: not a key\n        alg: ES256`,
      right: `${HEAD}    backendAuth:\n      jwtSign:\n        signingKey: { file: signing-key.pem }\n        alg: ES256`,
      sketch: true,
    },
  },
])
