import { defineCodes } from './define.ts'

const HEAD =
  'gateways:\n  default:\n    port: 8080\nroutes:\n- backends: [{ host: "api:8080" }]\n  policies:\n'

export const AUTHENTICATION_CODES = defineCodes('PC05', 'Authentication', [
  {
    code: 'PC0501',
    severity: 'warning',
    title: 'a key of an issuer is not used',
    explanation:
      'A key in a key set cannot verify tokens: it has no `kid`, is not for signatures, is a ' +
      'private key or a shared secret, is too short, or is one of two keys with the same `kid`. ' +
      'Tokens that name it are rejected; the other keys of the set are used. Publish a public key ' +
      'of at least 2048 bits (RSA), or on P-256, P-384, P-521, Ed25519 or Ed448, with a `kid` of ' +
      'its own and `use: sig`.',
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
    title: 'a line of an htpasswd text is not used',
    explanation:
      'A user of `basicAuth` cannot sign in: the line is not `name:hash`, the name was given ' +
      'before, or the hash is of a kind that is not checked here or would cost too much for each ' +
      'request. Passwords in plain text and the old `crypt` are never taken. Make the line anew ' +
      'with `htpasswd -nB name`; the other users can sign in all the same.',
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
    title: 'an issuer has no key that can be used',
    explanation:
      'The key set of an issuer in the configuration is empty, or none of its keys can verify ' +
      'tokens, so that every token of the issuer is rejected, and with it every client that has no other credential. Put the public keys of the issuer into the set, or let the gateway fetch ' +
      'them with `url`.',
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
    title: 'a credential is written in the file',
    explanation:
      'An API key is written in the configuration as it is, so that anyone who can read the file, a copy of it or its history can use the key. The gateway itself keeps only the digest. Write ' +
      'the digest instead, which is worth nothing to a reader: `keyHash: sha256:` and what ' +
      '`printf %s KEY | sha256sum` prints; or take the key from the environment.',
    example: {
      language: 'yaml',
      wrong: `${HEAD}    apiKey:\n      keys: [{ key: robot-key }]`,
      right: `${HEAD}    apiKey:\n      keys: [{ keyHash: "sha256:b2cfb5518f033861ee2dd12be0f7c0b95c23d0b8d1f4c32c8a788f77bc8a52be" }]`,
    },
  },
  {
    code: 'PC0505',
    severity: 'error',
    title: 'the text of a secret is not known',
    explanation:
      'A policy names a secret (the users of `basicAuth`, the key of `backendAuth`) whose text did ' +
      'not come with the configuration. Configurations name secrets and their versions; the texts ' +
      'travel beside them, so that no dump shows one. Without the text no one could sign in, and a ' +
      'backend would get no key: requests that the policy was to guard get 500, and the log and ' +
      'the status of the policy say so. Write the configuration anew, or look at what is between its source and the gateway: a dump of a configuration, for one, has no texts.',
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
      'The `signingKey` of `backendAuth.jwtSign` is not a private key in PEM form, or not one for ' +
      'the algorithm in `alg`: RS and PS need an RSA key of at least 2048 bits, ES256 a key on ' +
      'P-256, ES384 on P-384, ES512 on P-521, and EdDSA an Ed25519 key. Requests to the backend ' +
      'get 500, since it would get no credential.',
    example: {
      language: 'yaml',
      wrong: `${HEAD}    backendAuth:\n      jwtSign:\n        signingKey: not a key\n        alg: ES256`,
      right: `${HEAD}    backendAuth:\n      jwtSign:\n        signingKey: { file: signing-key.pem }\n        alg: ES256`,
      sketch: true,
    },
  },
])
