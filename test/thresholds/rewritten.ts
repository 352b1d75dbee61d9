import { constantOf, type Setting, type Threshold, valueAt, withOperand } from './threshold.ts'

/** The text of a file of the product with the values of this setting, and with counted comparisons. */
export function rewritten(
  path: string,
  original: string,
  thresholds: readonly Threshold[],
  setting: Setting,
): string {
  let text = original
  const comparisons = new Map<string, string>()
  for (const [index, threshold] of thresholds.entries()) {
    const value = valueAt(threshold, setting, index)
    const name = constantOf(threshold)
    if (path === (threshold.declaredIn ?? threshold.file) && name !== undefined) {
      text = declared(text, name, value, path)
    }
    if (path !== threshold.file) continue
    for (const test of threshold.tests) {
      const changed = name === undefined && value !== undefined ? withOperand(test, value) : test
      comparisons.set(test, `globalThis.portcullisSide(${index}, ${changed})`)
    }
  }
  if (comparisons.size === 0) return text
  const missing = new Set(comparisons.keys())
  const all = [...missing].map((test) => RegExp.escape(test)).join('|')
  const counted = text.replace(new RegExp(`(?<![\\w.$])(?:${all})(?!\\w)`, 'g'), (test) => {
    missing.delete(test)
    return comparisons.get(test) as string
  })
  if (missing.size > 0)
    throw new Error(`${path} has no comparison \`${[...missing].join('`, `')}\``)
  return counted
}

function declared(text: string, name: string, value: number | undefined, path: string): string {
  const pattern = new RegExp(`^((?:export )?const ${name}(?:: number)? =) .+$`, 'm')
  if (!pattern.test(text)) throw new Error(`${path} does not declare ${name} in one line`)
  return value === undefined ? text : text.replace(pattern, `$1 ${value}`)
}
