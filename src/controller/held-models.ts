import type { Model } from '../model/model.ts'
import { runToCompletion } from '../model/steps.ts'
import { versionOfModel } from '../model/version.ts'
import type { Delivery } from './delivery.ts'

/** Holds Models for whoever wants to see them, and has no proxies: no Gateway is programmed. */
export class HeldModels implements Delivery {
  readonly models = new Map<string, Model>()

  publish(gateway: string, model: Model): string {
    this.models.set(gateway, model)
    return runToCompletion(versionOfModel(model))
  }

  withdraw(gateway: string): void {
    this.models.delete(gateway)
  }

  proxies(): readonly never[] {
    return []
  }
}
