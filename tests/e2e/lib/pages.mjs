// SPDX-License-Identifier: Apache-2.0
/** Every page, with its name. charts: at least so many, each with something drawn. */
export const PAGES = [
  { path: 'overview', en: 'Overview', zh: '总览', charts: 4 },
  { path: 'latency', en: 'Latency', zh: '延迟', charts: 6 },
  { path: 'tokens', en: 'Tokens and cost', zh: '令牌与成本', charts: 5 },
  { path: 'requests', en: 'Requests', zh: '请求', charts: 0 },
  { path: 'alerts', en: 'Alerts', zh: '告警', charts: 0 },
  { path: 'incidents', en: 'Incidents', zh: '事故', charts: 0 },
  { path: 'slos', en: 'SLOs', zh: 'SLO', charts: 1 },
  { path: 'pipeline', en: 'Pipeline', zh: '采集链路', charts: 3 },
];
