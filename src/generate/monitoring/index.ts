/** What is shown and what is warned of: dashboards for Grafana, and alerts for Prometheus. */
import { cachesDashboard } from './caches-dashboard.ts';
import { operatorDashboard } from './operator-dashboard.ts';
import { dashboardJson } from './panels.ts';

export { alertRules, alerts, ruleGroups } from './alerts.ts';

export const dashboards = [cachesDashboard, operatorDashboard];

/** The texts of the files, by their names. */
export function dashboardFiles(): { readonly name: string; readonly text: string }[] {
  return dashboards.map((dashboard) => ({
    name: `${dashboard.uid}.json`,
    text: `${JSON.stringify(dashboardJson(dashboard), undefined, 2)}\n`,
  }));
}
