import type { Exchange } from '../exchange/exchange.ts'
import type { ValidPolicy } from '../model/policy.ts'
import { type SecretRef, secretText } from '../model/secret.ts'
import type { AzureIdentity } from './azure-identity.ts'
import { openAzureTokens } from './azure-tokens.ts'
import type { CompileContext } from './define.ts'
import type { NoCredential } from './kept-credential.ts'
import { isSendable } from './sent-key.ts'
import type { Header } from './service-headers.ts'

/* Credentials for services that a policy itself calls. */

/** Returns the credential header for one request. */
export type FindHeader = (exchange: Exchange) => Promise<Header | NoCredential>

export function sentKey(key: SecretRef | undefined, name: string, prefix: string): FindHeader {
  const text = (key && secretText(key)?.trim()) ?? ''
  const found = isSendable(text)
    ? ([name, `${prefix}${text}`] as const)
    : { detail: 'the key is empty' }
  return () => Promise.resolve(found)
}

export function sentAzureToken(
  identity: AzureIdentity,
  policy: ValidPolicy,
  context: CompileContext,
): FindHeader {
  const find = openAzureTokens(identity, policy, context)
  return async (exchange) => {
    const found = await find(exchange)
    return typeof found === 'string' ? ['authorization', `Bearer ${found}`] : found
  }
}
