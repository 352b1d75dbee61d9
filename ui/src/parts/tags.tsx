import type { ReactNode } from 'react'
import type { ActionName, Decision, ProtectionName } from '../api/shapes.ts'

export type Tone = 'good' | 'bad' | 'warn' | 'quiet'

export function Tag({ tone, children }: { readonly tone: Tone; readonly children: ReactNode }) {
  return <span className={`tag tone-${tone}`}>{children}</span>
}

const PROTECTIONS: Readonly<Record<string, readonly [Tone, string]>> = {
  guarded: ['good', 'Guarded'],
  'no-backend': ['quiet', 'No backend'],
  unprotected: ['bad', 'Unprotected'],
}

export function isOpen(protection: ProtectionName): boolean {
  return protection !== 'guarded' && protection !== 'no-backend'
}

export function Protection({ value }: { readonly value: ProtectionName }) {
  const [tone, words] = PROTECTIONS[value] ?? ['warn', sentence(value)]
  return <Tag tone={tone}>{words}</Tag>
}

function sentence(words: string): string {
  const text = words.replaceAll('-', ' ')
  return text.charAt(0).toUpperCase() + text.slice(1)
}

const ACTIONS: Readonly<Record<ActionName, Tone>> = { Deny: 'bad', Require: 'warn', Allow: 'good' }

export function ActionTag({ value }: { readonly value: ActionName }) {
  return <Tag tone={ACTIONS[value] ?? 'quiet'}>{value}</Tag>
}

export function VerdictTag({ decision }: { readonly decision: Decision }) {
  const { verdict, enforced } = decision
  if (!enforced) return <Tag tone="warn">Would deny</Tag>
  if (verdict === 'rejected') return <Tag tone="warn">Rejected</Tag>
  return verdict === 'denied' ? <Tag tone="bad">Denied</Tag> : <Tag tone="good">Allowed</Tag>
}
