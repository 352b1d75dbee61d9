import { type FormHints, first, type Start } from './kind-hints.ts'

/** Keys and budgets, which most kinds may have. */
export const KEY_FORMS: Readonly<Record<string, FormHints>> = {
  'apiKey:keys[]': first('metadata', 'keyHash', 'expires', 'allowedModels'),
  'budgets:[]': first('tokens', 'per', 'key'),
  'localRateLimit:': first('requests', 'unit', 'key'),
  'llm-params:': first('apiKey', 'model'),
}

export const key = (policies: string): Start => ({
  id: 'key',
  label: 'a key',
  to: [policies, 'apiKey', 'keys'],
  value: { metadata: { owner: '' } },
  isItem: true,
})

export const budget = (policies: string): Start => ({
  id: 'budget',
  label: 'a budget',
  to: [policies, 'budgets'],
  value: { tokens: 1_000_000, per: 'Day', key: 'apiKey.owner' },
  isItem: true,
})

export const rules = (policies: string, kind = 'authorization'): Start => ({
  id: 'rule',
  label: 'a rule',
  to: [policies, kind, 'rules'],
  value: { allow: '' },
  isItem: true,
})
