import assert from 'node:assert/strict'
import type { KubernetesObject, Values } from './helm.ts'

/** `setAt('a.b', 1)` is `{a: {b: 1}}`. */
export function setAt(key: string, value: unknown): Values {
  const names = key.split('.')
  return names.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as Values
}

export function merge(...all: readonly Values[]): Values {
  return all.reduce((one, other) => mergeTwo(one, other))
}

function mergeTwo(one: Values, other: Values): Values {
  const merged: Record<string, unknown> = { ...one }
  for (const [key, value] of Object.entries(other)) {
    const before = merged[key]
    merged[key] = isMapping(before) && isMapping(value) ? mergeTwo(before, value) : value
  }
  return merged
}

function isMapping(value: unknown): value is Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The only object of a kind; `Service/edge-admin` if there are several. */
export function find(objects: readonly KubernetesObject[], which: string): KubernetesObject {
  const [kind, name] = which.split('/')
  const all = objects.filter((object) => {
    return object.kind === kind && (name === undefined || object.metadata.name === name)
  })
  assert.equal(all.length, 1, `${all.length} objects are ${which}`)
  return all[0] as KubernetesObject
}

/**
 * The value at `spec.containers[0].image` or `data["a.b"]`, or the item `["name=x"]` of a list;
 * undefined if there is none.
 */
export function at(value: unknown, path: string): unknown {
  const names = Array.from(path.matchAll(/"([^"]+)"|[^.[\]"]+/g), ([all, quoted]) => quoted ?? all)
  return names.reduce<unknown>((inner, name) => {
    if (name.startsWith('name=') && Array.isArray(inner)) {
      return inner.find((item) => item.name === name.slice(5))
    }
    return (inner as Readonly<Record<string, unknown>> | undefined)?.[name]
  }, value)
}

/** A variable of the first container of pods, and its value. */
export type Variable = readonly [name: string, value: string | undefined]

/** The path of a variable's value in a Deployment. */
export function variable(name: string): string {
  return `spec.template.spec.containers[0].env["name=${name}"].value`
}

/**
 * A value of a chart, the path that it sets, and the rendered value: by default the value itself.
 */
export type LandingCase = readonly [
  key: string,
  value: unknown,
  object: string,
  path: string,
  options?: { readonly expect?: unknown; readonly with?: Values },
]

export const ABSENT = undefined
