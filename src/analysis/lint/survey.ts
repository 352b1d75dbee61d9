import { renderOrigin } from '../../diagnostics/render.ts'
import type { Model } from '../../model/model.ts'
import type { PlacedRule } from '../placed-rule.ts'
import { type Point, pointsOf } from '../points.ts'
import { Reasoning } from '../reasoning.ts'
import { originOfRule } from './finding.ts'

/** A rule, and every point that it reaches. */
export interface RuleUse {
  readonly placed: PlacedRule
  readonly at: readonly SurveyedPoint[]
}

/** A rule as one of its points knows it: the same rule may see another token elsewhere. */
export interface SurveyedPoint {
  readonly point: Point
  readonly placed: PlacedRule
  readonly reasoning: Reasoning
}

/** All rules of a Model with the points that they reach. */
export interface Survey {
  readonly model: Model
  readonly points: readonly ReasonedPoint[]
  readonly rules: readonly RuleUse[]
}

export interface ReasonedPoint {
  readonly point: Point
  readonly reasoning: Reasoning
}

/** More rules than this at one point are not compared with each other. */
const MOST_RULES = 1_000

/**
 * Points that cannot be told apart by their rules are looked at once: a gateway's rules reach
 * thousands of routes, and mean the same at all of them.
 */
export function* survey(model: Model): Generator<undefined, Survey> {
  const identify = identifier()
  const points = new Map<string, ReasonedPoint>()
  const uses = new Map<string, { placed: PlacedRule; at: SurveyedPoint[] }>()
  for (const point of pointsOf(model)) {
    if (point.rules.length === 0) continue
    const key = identify(point)
    if (points.has(key)) continue
    const few = { ...point, rules: point.rules.slice(0, MOST_RULES) }
    const reasoning = new Reasoning(few)
    points.set(key, { point: few, reasoning })
    for (const placed of few.rules) {
      const rule = ruleKey(placed)
      const known = uses.get(rule)
      const seen = { point: few, placed, reasoning }
      if (known === undefined) uses.set(rule, { placed, at: [seen] })
      else known.at.push(seen)
    }
    yield
  }
  return { model, points: [...points.values()], rules: [...uses.values()] }
}

export function ruleKey(placed: PlacedRule): string {
  return `${renderOrigin(originOfRule(placed))} ${placed.rule.field} ${placed.rule.expression}`
}

function identifier(): (point: Point) => string {
  const ids = new Map<PlacedRule, number>()
  const idOf = (placed: PlacedRule) => {
    const known = ids.get(placed) ?? ids.size
    ids.set(placed, known)
    return known
  }
  return ({ stage, rules, facts }) => {
    const paths = new Set(rules.flatMap(({ reads }) => reads.map(({ path }) => path)))
    const known = [...facts].filter(([name]) => {
      const plain = name.replace(/#[^.[]*/, '')
      return paths.has(plain) || [...paths].some((path) => concerns(plain, path))
    })
    return JSON.stringify([stage, rules.map(idOf), known])
  }
}

function concerns(fact: string, path: string): boolean {
  return path.startsWith(fact) || fact.startsWith(path)
}
