import { readValues } from './read-values.ts'
import { isMapping, type Shape } from './shapes.ts'

/** Renders values.schema.json: the shape of the values, described by comments in values.yaml. */
export function renderValuesSchema(chart: string, shape: Shape, values: string): string {
  const keys = readValues(values)
  const meanings = new Map(keys.map(({ key, meaning }) => [key, meaning]))
  const used = new Set<string>()
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: `Values of the chart ${chart}`,
    ...describe(shape, ''),
  }
  const unknown = [...meanings.keys()].filter((key) => !used.has(key))
  if (unknown.length > 0) throw new Error(`no shape for ${unknown.join(', ')} of ${chart}`)
  return `${JSON.stringify(schema, undefined, 2)}\n`

  function describe(part: Shape, key: string): Shape {
    used.add(key)
    const meaning = meanings.get(key)
    const described = meaning === undefined ? part : { description: meaning, ...part }
    if (!isMapping(part)) return described
    const properties = Object.entries(part.properties).map(([name, inner]) => {
      return [name, describe(inner, key === '' ? name : `${key}.${name}`)]
    })
    // A parent chart may remove a section with null; the section then has no defaults.
    const required = Object.keys(part.properties).filter((name) => {
      return isMapping(part.properties[name] as Shape)
    })
    return { ...described, required, properties: Object.fromEntries(properties) }
  }
}
