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
      'Tokens that name it are refused; the other keys of the set are used. Publish a public key ' +
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
])
