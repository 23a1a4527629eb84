// SPDX-License-Identifier: Apache-2.0
/** Colours of series: told apart by people who do not see all colours, on light and on dark. */
export interface Colors {
  series: string[];
  text: string;
  dim: string;
  line: string;
  back: string;
  heat: string[];
  mark: string;
}

const light: Colors = {
  series: ['#2563b8', '#c2570c', '#0f7f6b', '#a3308c', '#7a6400', '#5b4bc4', '#b3261e', '#3f6b2a', '#56606e', '#0c7c9e'],
  text: '#1d2530', dim: '#5b6675', line: '#e2e6ec', back: '#ffffff', mark: '#b3261e',
  heat: ['#eaf1fb', '#b9d2f3', '#7fabe3', '#457fc9', '#1f57a0', '#0e3569'],
};
const dark: Colors = {
  series: ['#74aaf5', '#f0954e', '#4cc5ae', '#e07fcb', '#d8bd4a', '#a99bf5', '#f2796f', '#8fc474', '#aab4c2', '#58c3e4'],
  text: '#e3e8ef', dim: '#98a4b3', line: '#2b333f', back: '#171c24', mark: '#f2796f',
  heat: ['#1c2837', '#1f3f66', '#25609c', '#3d8ad1', '#7fbcf0', '#d5ebff'],
};

export const colors = (isDark: boolean): Colors => (isDark ? dark : light);
