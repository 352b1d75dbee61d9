// A test issuer: writes its key set to jwks.json in the current folder, next to its private key,
// and prints a token for the given user. Needs Node.js 20 or later.
//
//   node examples/kubernetes/token.mjs alice
import { createPrivateKey, createPublicKey, generateKeyPairSync, sign } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'

const KEY = 'issuer-key.pem'
const [user = 'alice'] = process.argv.slice(2)

if (!existsSync(KEY)) {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  writeFileSync(KEY, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 })
}
const key = createPrivateKey(readFileSync(KEY))
const jwk = createPublicKey(key).export({ format: 'jwk' })
const keys = [{ ...jwk, use: 'sig', alg: 'ES256', kid: 'example' }]
writeFileSync('jwks.json', `${JSON.stringify({ keys })}\n`)

const encode = (value) => Buffer.from(JSON.stringify(value)).toString('base64url')
const exp = Math.floor(Date.now() / 1000) + 3600
const text = [
  encode({ alg: 'ES256', kid: 'example' }),
  encode({ iss: 'https://issuer.example.com', sub: user, exp }),
].join('.')
const signature = sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' })
console.log(`${text}.${signature.toString('base64url')}`)
